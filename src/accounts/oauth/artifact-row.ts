import type { OauthArtifactsTable } from '../../storage/oauth-tables.ts'
import { digestOf } from '../api-key.ts'

/** What oidc-provider has the store keep, by its own names of them. */
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

/** What oidc-provider keeps of one, as it hands it over and takes it back. */
export type ArtifactPayload = Record<string, unknown>

/** What is for a connection or client, and goes with it. */
const ofConnections: ReadonlySet<ArtifactKind> = new Set([
  'AccessToken',
  'AuthorizationCode',
  'ClientCredentials',
  'Grant',
  'RefreshToken',
])

/** Whether it is for a connection or client, and not a step on the way there. */
export function isOfConnection(kind: ArtifactKind): boolean {
  return ofConnections.has(kind)
}

/** What callers present to `/mcp` and `/v1`. */
export const accessKinds = ['AccessToken', 'ClientCredentials'] as const

/** By what an artifact is found: its id is stored nowhere. */
export function artifactDigest(kind: ArtifactKind, id: string): string {
  return digestOf(`${kind}:${id}`)
}

type Kept = { payload: ArtifactPayload; now: number; expiresAt: number }

/** The row of an artifact, in which neither its id is nor that of a session. */
export function artifactRow(
  kind: ArtifactKind,
  id: string,
  { payload, now, expiresAt }: Kept,
): OauthArtifactsTable {
  const { jti: _id, session, ...rest } = payload
  const { cookie: _sessionId, ...ofSession } = fieldsOf(session)
  return {
    digest: artifactDigest(kind, id),
    kind,
    client_id: textIn(rest['clientId'] ?? fieldsOf(rest['params'])['client_id']),
    grant_id: grantOf(kind, id, rest),
    uid: kind === 'Session' ? textIn(rest['uid']) : null,
    payload: JSON.stringify(session === undefined ? rest : { ...rest, session: ofSession }),
    created_at: now,
    consumed_at: null,
    expires_at: expiresAt,
  }
}

function grantOf(kind: ArtifactKind, id: string, { grantId }: ArtifactPayload): string | null {
  if (kind === 'Grant') return id
  return isOfConnection(kind) ? textIn(grantId) : null
}

/** What oidc-provider had kept; it has the id where that is known. */
export function artifactPayload(
  { payload, consumed_at: consumedAt }: OauthArtifactsTable,
  { id, isUsed }: { id?: string; isUsed: (consumedAt: number) => boolean },
): ArtifactPayload {
  return {
    // Written by `artifactRow`.
    ...(JSON.parse(payload) as ArtifactPayload),
    ...(id === undefined ? {} : { jti: id }),
    ...(consumedAt !== null && isUsed(consumedAt) ? { consumed: true } : {}),
  }
}

function fieldsOf(value: unknown): ArtifactPayload {
  return typeof value === 'object' && value !== null ? (value as ArtifactPayload) : {}
}

function textIn(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}
