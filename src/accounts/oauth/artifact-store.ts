/** What oidc-provider has the store keep, by its own names of them. */
export const artifactKinds = [
  'AccessToken',
  'AuthorizationCode',
  'Client',
  'ClientCredentials',
  'Grant',
  'Interaction',
  'RefreshToken',
  'ReplayDetection',
  'Session',
] as const
export type ArtifactKind = (typeof artifactKinds)[number]

/** What oidc-provider keeps of one, as it hands it over and takes it back. */
export type ArtifactPayload = Record<string, unknown>

/**
 * The functions of oidc-provider's adapter. Ids are stored as digests alone; a `Client` comes back
 * with the digest (`digestOf`) of its secret as `client_secret`.
 */
export type ArtifactStore = {
  /** Keeps one, in the place of what has the id. Throws an OauthRefusal where there are too many. */
  upsert(
    kind: ArtifactKind,
    id: string,
    payload: ArtifactPayload,
    expiresInSeconds?: number,
  ): Promise<void>
  /** One that has not expired; `consumed` is in it when it was used, and its grace is over. */
  find(kind: ArtifactKind, id: string): Promise<ArtifactPayload | undefined>
  findByUid(kind: 'Session', uid: string): Promise<ArtifactPayload | undefined>
  /** Uses a code or refresh token. Throws an OauthRefusal `already_used` for all but the first. */
  consume(kind: ArtifactKind, id: string): Promise<void>
  destroy(kind: ArtifactKind, id: string): Promise<void>
  /** Ends the connection, with all its tokens; they are over everywhere within two seconds. */
  revokeByGrantId(grantId: string): Promise<void>
}
