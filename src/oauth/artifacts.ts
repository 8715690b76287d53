import type { Adapter, AdapterFactory, JWK } from 'oidc-provider'

/** The payload of an artifact, in oidc-provider's form. */
type Payload = Record<string, unknown>

/**
 * Stores codes, tokens, clients and pending sign-ins; `kind` is oidc-provider's name of the model.
 */
export type ArtifactStore = {
  upsert(kind: string, id: string, payload: Payload, expiresInSeconds?: number): Promise<void>
  find(kind: string, id: string): Promise<Payload | undefined>
  findByUid(kind: 'Session', uid: string): Promise<Payload | undefined>
  /** Rejects for all but the first. */
  consume(kind: string, id: string): Promise<void>
  /** Notes that a code was exchanged: another use is a replay. */
  finishExchange(code: string): Promise<void>
  destroy(kind: string, id: string): Promise<void>
  /** Whether a person has connected the client with this redirect host. */
  isConnected(clientId: string, redirectHost: string): Promise<boolean>
  /** Revokes everything of a grant. */
  revokeByGrantId(grantId: string): Promise<void>
}

/** Keys that sign, the newest first, and keys of cookies. */
export type OAuthKeys = { signing: readonly JWK[]; cookies: readonly string[] }

/** The store as oidc-provider's adapter; `refusalOf` words what the store refuses. */
export function adapterOver(
  store: ArtifactStore,
  refusalOf: (error: unknown, kind: string) => unknown,
): AdapterFactory {
  return (kind) => {
    const told = async <T>(asked: Promise<T>): Promise<T> => {
      try {
        return await asked
      } catch (error) {
        throw refusalOf(error, kind)
      }
    }
    const adapter: Adapter = {
      upsert: (id, payload, expiresIn) => told(store.upsert(kind, id, { ...payload }, expiresIn)),
      find: (id) => told(store.find(kind, id)),
      findByUserCode: async () => undefined,
      findByUid: (uid) => told(store.findByUid('Session', uid)),
      consume: (id) => told(store.consume(kind, id)),
      destroy: (id) => told(store.destroy(kind, id)),
      revokeByGrantId: (grantId) => told(store.revokeByGrantId(grantId)),
    }
    return adapter
  }
}
