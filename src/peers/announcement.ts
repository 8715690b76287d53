/** What one process of a gateway tells the others (docs/redis.md#announcements). */
export type Announcement =
  /** Keys were revoked, rotated or changed. */
  | { kind: 'keys_changed'; keyIds: readonly string[] }
  /** Limits or the budget of an account were changed. */
  | { kind: 'account_changed'; accountId: string }
  /** Sessions of people were ended. */
  | { kind: 'sessions_changed' }
  /** An operator had the settings read again. */
  | { kind: 'settings_reloaded' }
  /** A client cancels a tool call, by the id that it gave it. */
  | ({ kind: 'call_cancelled'; id: string | number } & ToolClient)
  /** A tool client has set its log level. */
  | ({ kind: 'log_level_set'; level: string } & ToolClient)
  /** A tool client has ended its session. */
  | ({ kind: 'tool_session_ended' } & ToolClient)
  /** What clients that listen for their account are told of a tool call. */
  | { kind: 'call_told'; accountId: string; told: CallTold }

/** Reports a change that is in the store to every process, this one too. */
export type Announce = (announcement: Announcement) => void

/** A key, and the session of its connection to the tool server if it has one. */
type ToolClient = { keyId: string; sessionId?: string | undefined }

/** A tool call, as those who listen hear of it. */
type CallTold = { tool: string; requestId: string; state: string; elapsedMs: number }

/** Announcements of one kind. */
export type AnnouncementOf<Kind extends Announcement['kind']> = Extract<
  Announcement,
  { kind: Kind }
>

/** Longest text of an announcement; ids of clients that are longer are told to nobody. */
export const announcedTextMax = 256
/** Keys of one announcement. */
const keysMax = 100
/** Longest announcement, printed. */
export const announcementLengthMax = 32_768

type Fields = Readonly<Record<string, unknown>>

/** By kind, what it has to have. */
const forms: { [Kind in Announcement['kind']]: (fields: Fields) => boolean } = {
  keys_changed: ({ keyIds }) =>
    Array.isArray(keyIds) && keyIds.length <= keysMax && keyIds.every(isText),
  account_changed: ({ accountId }) => isText(accountId),
  sessions_changed: () => true,
  settings_reloaded: () => true,
  call_cancelled: ({ id, ...client }) =>
    isToolClient(client) && (isText(id) || Number.isFinite(id)),
  log_level_set: ({ level, ...client }) => isToolClient(client) && isText(level),
  tool_session_ended: isToolClient,
  call_told: ({ accountId, told }) => isText(accountId) && isObject(told) && isCallTold(told),
}

/** What another process has sent, checked in form; undefined for anything else. */
export function readAnnouncement(value: unknown): Announcement | undefined {
  if (!isObject(value)) return undefined
  const { kind } = value
  if (typeof kind !== 'string' || !Object.hasOwn(forms, kind)) return undefined
  // Its form is that of its kind.
  return forms[kind as Announcement['kind']](value) ? (value as Announcement) : undefined
}

function isToolClient({ keyId, sessionId }: Fields): boolean {
  return isText(keyId) && (sessionId === undefined || isText(sessionId))
}

function isCallTold({ tool, requestId, state, elapsedMs }: Fields): boolean {
  return isText(tool) && isText(requestId) && isText(state) && Number.isFinite(elapsedMs)
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.length <= announcedTextMax
}
