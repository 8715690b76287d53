import type { components } from '../../generated/types.ts'

export type Mode = components['schemas']['Mode']

/** Whoever a key belongs to. */
export type Caller = {
  accountId: string
  keyId: string
  mode: Mode
  /** The models that this key may call; null for all. */
  models: readonly string[] | null
}

/** The credentials that a request carries, whichever header they came in. */
export type Credentials = { authorization: string | undefined; apiKey: string | undefined }

/** Finds out who a request is from. Throws `missing_api_key`, `invalid_api_key` or `expired_api_key`. */
export type Identify = (credentials: Credentials) => Promise<Caller> | Caller

/** The state of a caller's request limit after this call. */
export type RequestLimit = {
  limit: number
  remaining: number
  windowSeconds: number
  resetSeconds: number
}

/** Which face a call came through. */
export type Face = 'images' | 'chat' | 'mcp'

/** One call of a caller, and how they want it handled. */
export type CallContext = {
  caller: Caller
  /** Names the call in logs and in the ledger; unique. */
  requestId: string
  face: Face
  /** Whatever ends the call aborts it, with a ProviderFailure as its reason. */
  ending: AbortController
  cache: { recall: boolean; remember: boolean; ttlMs: number | undefined }
  /** What would be adjusted with a warning is refused instead. */
  strict: boolean
  /** Whether more than the first route may be tried. */
  fallback: boolean
}
