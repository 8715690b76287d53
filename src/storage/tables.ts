/** Every table; src/storage/README.md says what each column holds and how long it lives. */
export type Tables = {
  accounts: AccountsTable
  api_keys: ApiKeysTable
  usage: UsageTable
}

export type AccountsTable = {
  id: string
  name: string
  created_at: number
}

export type ApiKeysTable = {
  id: string
  account_id: string
  name: string
  mode: 'live' | 'test'
  digest: string
  hint: string
  allowed_models: string | null
  created_at: number
  expires_at: number | null
  revoked_at: number | null
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
  outcome: string
  error_code: string | null
  cache: string
  input_tokens: number
  cached_input_tokens: number
  output_tokens: number
  reasoning_tokens: number
  images: number
  cost_nano_usd: number | null
  cost_status: string
  attempts: string
  duration_ms: number
}
