/** Why the store does not keep or give what a client of OAuth asks for. */
export type StoreRefusalCode =
  /** A code, or a refresh token behind its grace, was used before. */
  | 'already_used'
  /** What it belongs to has ended meanwhile. */
  | 'connection_ended'
  /** More clients have registered, or more sign-ins are under way, than the settings allow. */
  | 'too_many_clients'
  | 'too_many_artifacts'
  /** The account has as many connections as the settings allow. */
  | 'too_many_connections'

/** A refusal of the store; its message is for people and names a remedy. */
export class StoreRefusal extends Error {
  readonly code: StoreRefusalCode

  constructor(code: StoreRefusalCode, message: string) {
    super(message)
    this.name = 'StoreRefusal'
    this.code = code
  }
}
