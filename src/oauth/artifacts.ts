import type { Adapter, AdapterFactory, JWK } from 'oidc-provider'

/** What oidc-provider keeps of one thing, as it hands it over and takes it back. */
type Payload = Record<string, unknown>

/**
 * Where codes, tokens, clients and sign-ins under way are kept: a kind is oidc-provider's name of it,
 * one of those that the configuration leaves on.
 */
export type ArtifactStore = {
  upsert(kind: string, id: string, payload: Payload, expiresInSeconds?: number): Promise<void>
  find(kind: string, id: string): Promise<Payload | undefined>
  findByUid(kind: 'Session', uid: string): Promise<Payload | undefined>
  /** Rejects for all but the first. */
  consume(kind: string, id: string): Promise<void>
  /** The tokens of a code were given: if it comes again, it is a replay. */
  finishExchange(code: string): Promise<void>
  destroy(kind: string, id: string): Promise<void>
  /** Whether a person has connected the client with this redirect host. */
  isConnected(clientId: string, redirectHost: string): Promise<boolean>
  /** Ends all that was given with a grant. */
  revokeByGrantId(grantId: string): Promise<void>
}

/** The gateway's own keys: to sign, the newest first, and of cookies. */
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
