import type {
  PeopleTable,
  MembersTable,
  SessionsTable,
  InvitationsTable,
  PasswordLinksTable,
  SetUpLinksTable,
} from './people-tables.ts'
import type { KeyClientsTable, RefusalsTable, RefusedAttemptsTable } from './connection-tables.ts'
import type { OauthArtifactsTable, OauthClientsTable } from './oauth-tables.ts'
import type { StoredResponseItemsTable, StoredResponsesTable } from './response-tables.ts'

/** All tables; src/storage/README.md describes each column and how long rows are kept. */
export type Tables = {
  accounts: AccountsTable
  api_keys: ApiKeysTable
  usage: UsageTable
  usage_hours: UsageHoursTable
  audit_events: AuditEventsTable
  budget_windows: BudgetWindowsTable
  reservations: ReservationsTable
  idempotent_answers: IdempotentAnswersTable
  idempotent_answer_pieces: IdempotentAnswerPiecesTable
  people: PeopleTable
  members: MembersTable
  sessions: SessionsTable
  invitations: InvitationsTable
  setup_links: SetUpLinksTable
  password_links: PasswordLinksTable
  oauth_clients: OauthClientsTable
  oauth_artifacts: OauthArtifactsTable
  key_clients: KeyClientsTable
  refused_attempts: RefusedAttemptsTable
  refusals: RefusalsTable
  write_checks: WriteChecksTable
  gateway_secrets: GatewaySecretsTable
  provider_keys: ProviderKeysTable
  stored_settings: StoredSettingsTable
  stored_responses: StoredResponsesTable
  stored_response_items: StoredResponseItemsTable
}

/** Limits and budget of an account or key. */
export type AllowanceColumns = {
  requests_per_minute: number | null
  tokens_per_minute: number | null
  images_per_minute: number | null
  concurrency: number | null
  budget_nano_usd: number | null
  budget_period: 'day' | 'month' | 'total' | null
}

export type AccountsTable = AllowanceColumns & {
  id: string
  name: string
  created_at: number
  is_operator: number
}

export type ApiKeysTable = AllowanceColumns & {
  id: string
  account_id: string
  name: string
  mode: 'live' | 'test'
  digest: string
  hint: string
  allowed_models: string | null
  scopes: string
  allowed_addresses: string | null
  created_at: number
  expires_at: number | null
  revoked_at: number | null
  replaced_by: string | null
  counts_with: string | null
  last_used_at: number | null
  created_by: string | null
  /** `connection`: access that a person gave an OAuth client. `client`: the account's own OAuth client. */
  kind: 'key' | 'connection' | 'client' | 'session'
  client_id: string | null
  client_name: string | null
  client_redirect_host: string | null
  bound_to: string | null
}

export type UsageTable = {
  id: string
  at: number
  account_id: string
  key_id: string
  mode: string
  face: string
  modality: string
  model: string
  provider: string | null
  upstream_model: string | null
  served_model: string | null
  service_tier: string | null
  outcome: string
  error_code: string | null
  cache: string
  input_tokens: number
  cached_input_tokens: number
  cache_write_tokens: number
  audio_input_tokens: number
  image_input_tokens: number
  output_tokens: number
  reasoning_tokens: number
  audio_output_tokens: number
  image_output_tokens: number
  images: number
  cost_nano_usd: number | null
  cost_status: string
  pricing: string | null
  attempts: string
  duration_ms: number
  asked_model: string | null
  warnings: string | null
  saved_nano_usd: number | null
}

export type UsageHoursTable = {
  account_id: string
  mode: string
  hour_at: number
  key_id: string
  model: string
  provider: string
  face: string
  modality: string
  outcome: string
  calls: number
  cached_calls: number
  unpriced_calls: number
  cost_nano_usd: number
  input_tokens: number
  cached_input_tokens: number
  cache_write_tokens: number
  audio_input_tokens: number
  image_input_tokens: number
  output_tokens: number
  reasoning_tokens: number
  audio_output_tokens: number
  image_output_tokens: number
  images: number
  duration_ms: number
  saved_nano_usd: number
}

export type AuditEventsTable = {
  id: string
  at: number
  account_id: string
  action: string
  by: string
  address: string | null
  target: string
  before: string | null
  after: string | null
}

export type BudgetWindowsTable = {
  owner_id: string
  starts_at: number
  ends_at: number
  spent_nano_usd: number
  reserved_nano_usd: number
}

export type ReservationsTable = {
  request_id: string
  account_id: string
  key_id: string
  nano_usd: number
  at: number
  expires_at: number
  /** Null in rows of older versions; so are the following columns. */
  process: string | null
  face: string | null
  modality: string | null
  model: string | null
}

export type IdempotentAnswersTable = {
  key_digest: string
  id: string
  account_id: string
  key_id: string
  operation: string
  fingerprint: string
  state: 'in_progress' | 'done' | 'unknown' | 'lost'
  owner: string
  http_status: number | null
  headers: string | null
  body_bytes: number
  created_at: number
  deadline_at: number
  expires_at: number
}

type IdempotentAnswerPiecesTable = {
  answer_id: string
  position: number
  content: Uint8Array
  expires_at: number
}

type WriteChecksTable = {
  id: string
  at: number
}

type GatewaySecretsTable = {
  id: string
  secret: Uint8Array
  created_at: number
}

export type ProviderKeysTable = {
  id: string
  provider_id: string
  encryption_key_id: string
  ciphertext: Uint8Array
  hint: string
  created_at: number
  created_by: string
}

type StoredSettingsTable = {
  id: string
  yaml: string
  updated_at: number
  updated_by: string
}

type IntegerColumn = {
  [Name in keyof Tables]: {
    [Column in keyof Tables[Name]]: number extends Tables[Name][Column] ? Column : never
  }[keyof Tables[Name]]
}[keyof Tables]
type Integers = Record<Extract<IntegerColumn, string>, true>

/** The integer columns of all tables; a missing column is a compile error. */
export const integerColumns: Readonly<Integers> = {
  requests_per_minute: true,
  tokens_per_minute: true,
  images_per_minute: true,
  concurrency: true,
  budget_nano_usd: true,
  is_operator: true,
  created_at: true,
  updated_at: true,
  expires_at: true,
  saved_nano_usd: true,
  revoked_at: true,
  joined_at: true,
  last_used_at: true,
  used_at: true,
  consumed_at: true,
  at: true,
  input_tokens: true,
  cached_input_tokens: true,
  cache_write_tokens: true,
  audio_input_tokens: true,
  image_input_tokens: true,
  output_tokens: true,
  reasoning_tokens: true,
  audio_output_tokens: true,
  image_output_tokens: true,
  images: true,
  cost_nano_usd: true,
  duration_ms: true,
  http_status: true,
  body_bytes: true,
  deadline_at: true,
  position: true,
  hour_at: true,
  calls: true,
  cached_calls: true,
  unpriced_calls: true,
  starts_at: true,
  ends_at: true,
  spent_nano_usd: true,
  reserved_nano_usd: true,
  nano_usd: true,
  connected_at: true,
  last_seen_at: true,
  last_tool_at: true,
  times: true,
  first_at: true,
  last_at: true,
  text_bytes: true,
  size_bytes: true,
  runs_until: true,
}
