import { isMembers, type Members } from '../core/any-json.ts'

/** A message to all processes of a gateway (docs/redis.md#announcements). */
export type Announcement =
  /** Keys were revoked, rotated or changed. */
  | { kind: 'keys_changed'; keyIds: readonly string[] }
  | { kind: 'account_changed'; accountId: string }
  | { kind: 'sessions_changed' }
  | { kind: 'settings_reloaded' }
  /** A client cancels a tool call; `id` is the client's JSON-RPC request id. */
  | ({ kind: 'call_cancelled'; id: string | number } & ToolClient)
  | ({ kind: 'log_level_set'; level: string } & ToolClient)
  | ({ kind: 'tool_session_ended' } & ToolClient)
  /** Progress of a tool call, for clients that listen to their account's calls. */
  | { kind: 'tool_progress'; accountId: string; progress: ToolProgress }

/** Reports a stored change to all processes, including this one. */
export type Announce = (announcement: Announcement) => void

/** A key, and its session with the tool server if it has one. */
type ToolClient = { keyId: string; sessionId?: string | undefined }

type ToolProgress = { tool: string; requestId: string; state: string; elapsedMs: number }

export type AnnouncementOf<Kind extends Announcement['kind']> = Extract<
  Announcement,
  { kind: Kind }
>

/** Maximum length of a text; announcements with longer client ids are dropped. */
export const announcedTextMax = 256
const keysMax = 100
/** Maximum length of an announcement as JSON. */
export const announcementLengthMax = 32_768

/** Validates the members of each kind. */
const forms: { [Kind in Announcement['kind']]: (fields: Members) => boolean } = {
  keys_changed: ({ keyIds }) =>
    Array.isArray(keyIds) && keyIds.length <= keysMax && keyIds.every(isText),
  account_changed: ({ accountId }) => isText(accountId),
  sessions_changed: () => true,
  settings_reloaded: () => true,
  call_cancelled: ({ id, ...client }) =>
    isToolClient(client) && (isText(id) || Number.isFinite(id)),
  log_level_set: ({ level, ...client }) => isToolClient(client) && isText(level),
  tool_session_ended: isToolClient,
  tool_progress: ({ accountId, progress }) =>
    isText(accountId) && isMembers(progress) && isToolProgress(progress),
}

/** Validates a message of another process; undefined if it is invalid. */
export function readAnnouncement(value: unknown): Announcement | undefined {
  if (!isMembers(value)) return undefined
  const { kind } = value
  if (typeof kind !== 'string' || !Object.hasOwn(forms, kind)) return undefined
  // `forms` has validated the members.
  return forms[kind as Announcement['kind']](value) ? (value as Announcement) : undefined
}

function isToolClient({ keyId, sessionId }: Members): boolean {
  return isText(keyId) && (sessionId === undefined || isText(sessionId))
}

function isToolProgress({ tool, requestId, state, elapsedMs }: Members): boolean {
  return isText(tool) && isText(requestId) && isText(state) && Number.isFinite(elapsedMs)
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.length <= announcedTextMax
}
