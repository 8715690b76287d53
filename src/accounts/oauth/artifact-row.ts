import type { OauthArtifactsTable } from '../../storage/tables.ts'
import { digestOf } from '../api-key.ts'

/** oidc-provider's models that are stored. */
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

/** The payload of an artifact, in oidc-provider's form. */
export type ArtifactPayload = Record<string, unknown>

/** Kinds that belong to a connection or client, and are deleted with it; the others belong to a pending sign-in. */
export const ofConnections: ReadonlySet<ArtifactKind> = new Set([
  'AccessToken',
  'AuthorizationCode',
  'ClientCredentials',
  'Grant',
  'RefreshToken',
])

/** Kinds that callers present to `/mcp` and `/v1`. */
export const accessKinds = ['AccessToken', 'ClientCredentials'] as const

/** The primary key of an artifact, a digest: the id itself is not stored. */
export function artifactDigest(kind: ArtifactKind, id: string): string {
  return digestOf(`${kind}:${id}`)
}

/** The row of an artifact, without its own id and without a session id. */
export function artifactRow(
  kind: ArtifactKind,
  id: string,
  { payload, now, expiresAt }: { payload: ArtifactPayload; now: number; expiresAt: number },
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
  return ofConnections.has(kind) ? textIn(grantId) : null
}

/** The payload of a row, with the id if it is known. */
export function artifactPayload(
  { payload, consumed_at: consumedAt }: OauthArtifactsTable,
  { id, isUsed }: { id?: string; isUsed: (consumedAt: number) => boolean },
): ArtifactPayload {
  return {
    // `artifactRow` writes this column as an object.
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
