export type OauthClientsTable = {
  id: string
  account_id: string | null
  key_id: string | null
  name: string
  secret_digest: string | null
  metadata: string
  created_by: string | null
  created_at: number
  last_used_at: number
}

export type OauthArtifactsTable = {
  digest: string
  kind: string
  client_id: string | null
  grant_id: string | null
  uid: string | null
  payload: string
  created_at: number
  consumed_at: number | null
  expires_at: number
}
