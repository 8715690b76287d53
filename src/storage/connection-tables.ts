export type KeyClientsTable = {
  id: string
  account_id: string
  key_id: string
  name: string
  version: string | null
  connected_at: number | null
  last_seen_at: number
  last_tool: string | null
  last_tool_at: number | null
}

export type RefusedAttemptsTable = {
  id: string
  /** Null if the account is unknown. */
  account_id: string | null
  key_id: string | null
  reason: string
  face: string
  header: string | null
  client_name: string | null
  client_version: string | null
  redirect_host: string | null
  address: string | null
  message: string
  request_id: string | null
  times: number
  first_at: number
  last_at: number
}

export type RefusalsTable = {
  /** Empty for calls with a key that does not exist; so is `key_id`. */
  account_id: string
  hour_at: number
  key_id: string
  error_code: string
  calls: number
  last_at: number
}
