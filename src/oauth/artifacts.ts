import type { Adapter, AdapterFactory, JWK } from 'oidc-provider'

/** The payload of an artifact, in oidc-provider's form. */
type Payload = Record<string, unknown>

/** Stores codes, tokens, clients and sign-ins; `kind` is oidc-provider's name of the model. */
export type ArtifactStore = {
  upsert(kind: string, id: string, payload: Payload, expiresInSeconds?: number): Promise<void>
  find(kind: string, id: string): Promise<Payload | undefined>
  findByUid(kind: 'Session', uid: string): Promise<Payload | undefined>
  /** Marks a code or token as used. Rejects from the second use on. */
  consume(kind: string, id: string): Promise<void>
  /** Marks a code as exchanged: another use is a replay. */
  finishExchange(code: string): Promise<void>
  destroy(kind: string, id: string): Promise<void>
  isConnected(clientId: string, redirectHost: string): Promise<boolean>
  /** Ends the connection of a grant, with all of its codes and tokens. */
  revokeByGrantId(grantId: string): Promise<void>
}

/** Signing keys, the newest first, and keys for cookie signatures. */
export type OAuthKeys = { signing: readonly JWK[]; cookies: readonly string[] }

/** The store as oidc-provider's adapter; `refusalOf` maps the store's errors to OAuth errors. */
export function adapterOver(
  store: ArtifactStore,
  refusalOf: (error: unknown, kind: string) => unknown,
): AdapterFactory {
  return (kind) => {
    const mapped = async <T>(result: Promise<T>): Promise<T> => {
      try {
        return await result
      } catch (error) {
        throw refusalOf(error, kind)
      }
    }
    const adapter: Adapter = {
      upsert: (id, payload, expiresIn) => mapped(store.upsert(kind, id, { ...payload }, expiresIn)),
      find: (id) => mapped(store.find(kind, id)),
      findByUserCode: async () => undefined,
      findByUid: (uid) => mapped(store.findByUid('Session', uid)),
      consume: (id) => mapped(store.consume(kind, id)),
      destroy: (id) => mapped(store.destroy(kind, id)),
      revokeByGrantId: (grantId) => mapped(store.revokeByGrantId(grantId)),
    }
    return adapter
  }
}
