import type { Adapter, AdapterFactory, JWK } from 'oidc-provider'

/** What oidc-provider keeps of one thing, as it hands it over and takes it back. */
export type ArtifactPayload = Record<string, unknown>
export type ArtifactKind =
  | 'AccessToken'
  | 'AuthorizationCode'
  | 'Client'
  | 'ClientCredentials'
  | 'Grant'
  | 'Interaction'
  | 'RefreshToken'
  | 'ReplayDetection'
  | 'Session'

/** Where codes, tokens, clients and sign-ins under way are kept. */
export type ArtifactStore = {
  upsert(
    kind: ArtifactKind,
    id: string,
    payload: ArtifactPayload,
    expiresInSeconds?: number,
  ): Promise<void>
  find(kind: ArtifactKind, id: string): Promise<ArtifactPayload | undefined>
  findByUid(kind: 'Session', uid: string): Promise<ArtifactPayload | undefined>
  /** Rejects for all but the first. */
  consume(kind: ArtifactKind, id: string): Promise<void>
  destroy(kind: ArtifactKind, id: string): Promise<void>
  /** Ends all that was given with a grant. */
  revokeByGrantId(grantId: string): Promise<void>
}

/** The gateway's own keys: to sign, the newest first, and of cookies. */
export type OAuthKeys = { signing: readonly JWK[]; cookies: readonly string[] }

/** The store as oidc-provider's adapter; `refusalOf` words what the store refuses. */
export function adapterOver(
  store: ArtifactStore,
  refusalOf: (error: unknown) => unknown,
): AdapterFactory {
  const told = async <T>(asked: Promise<T>): Promise<T> => {
    try {
      return await asked
    } catch (error) {
      throw refusalOf(error)
    }
  }
  return (name) => {
    // The models that the configuration leaves on are these.
    const kind = name as ArtifactKind
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
