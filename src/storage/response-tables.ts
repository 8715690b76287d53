export type StoredResponsesTable = {
  id: string
  account_id: string
  key_id: string
  mode: 'live' | 'test'
  created_at: number
  expires_at: number
  text_bytes: number
  size_bytes: number
  encryption_key_id: string
  ciphertext: Uint8Array
  /** Null for a response that has ended. */
  runs_until: number | null
}

export type StoredResponseItemsTable = {
  account_id: string
  mode: 'live' | 'test'
  item_id: string
  /** The response that the item was first stored with. */
  response_id: string
  /** The newest response that holds a copy of the item. */
  latest_id: string
}
