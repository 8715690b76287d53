import type { components } from '../../generated/types.ts'
import type { Hold } from '../bytes/budget.ts'
import type { Ending } from './resilience/ending.ts'
import type { Trace } from './trace.ts'

type Schemas = components['schemas']
export type Mode = Schemas['Mode']
export type Scope = Schemas['Scope']
export type Role = Schemas['Role']

/** What an account or a key may use at most; null for no limit of its own. */
export type UsageLimits = {
  requestsPerMinute: number | null
  tokensPerMinute: number | null
  imagesPerMinute: number | null
  /** Calls at once. */
  concurrency: number | null
}

/** What may be spent from the beginning of a period to its end. */
export type SpendingLimit = { nanoUsd: number; period: Schemas['BudgetPeriod'] }

/** What an account or a key may use and spend. */
export type Allowance = {
  /** The id of the account or of the key. */
  ownerId: string
  limits: UsageLimits
  budget: SpendingLimit | null
}

/** A person who has signed in. */
export type SignedInPerson = {
  id: string
  sessionId: string
  /** In the account that is acted for. */
  role: Role
  /** What their requests carry when they change something. */
  csrfToken: string
}

/** The account, and the API key or the session, that a request is authenticated with. */
export type Caller = {
  accountId: string
  /** The key; of a person, the session. */
  keyId: string
  mode: Mode
  /** The models that this key may call; null for all. */
  models: readonly string[] | null
  scopes: readonly Scope[]
  /** The only networks that it may be used from, as CIDR; null for all. */
  networks: readonly string[] | null
  /** All of them apply at once: that of the account, then that of the key. */
  allowances: readonly [account: Allowance, key: Allowance]
  /** Whether it belongs to those who run the gateway: the first account's. */
  isOperator: boolean
  /** Of a connection that was made with an API key: that key, which it follows. Of a session's key: the session. */
  boundTo?: string
  /** Who made a key that administers: it may no more than they do now. */
  creatorId?: string
  /** Absent for an API key. */
  person?: SignedInPerson
}

/** A caller who has signed in. */
export type PersonCaller = Caller & { person: SignedInPerson }

/** Whether a caller has signed in, and is no API key. */
export function isPerson(caller: Caller): caller is PersonCaller {
  return caller.person !== undefined
}

/** Who does something that is not a call, and from where. */
export type Actor = {
  /** The API key or the person; `command_line` for the gateway's own commands. */
  id: string
  /** The network address. */
  address: string | null
}

/** Who administers accounts and keys, and as whom. */
export type Administrator = Actor & Pick<Caller, 'accountId' | 'scopes' | 'isOperator'>

/** The credentials of a request, by the header that carried them. */
export type Credentials = { authorization: string | undefined; apiKey: string | undefined }

/**
 * Authenticates a request. Throws `missing_api_key`, `invalid_api_key`, `expired_api_key`, and for an
 * access token `invalid_token`.
 */
export type Identify = (credentials: Credentials) => Promise<Caller> | Caller

/** The face that a call came through. */
export type Face = 'images' | 'chat' | 'mcp'

/** One call of a caller, and how they want it handled. */
export type CallContext = {
  caller: Caller
  /** Unique; identifies the call in logs and in the ledger. */
  requestId: string
  face: Face
  ending: Ending
  /** What the call holds of the memory. */
  hold: Hold
  /** Whether the answer may come from the cache and be stored there; `ttlMs`: for how long. */
  cache: { recall: boolean; remember: boolean; ttlMs: number | undefined }
  /** A request that would be adjusted with a warning is refused instead. */
  strict: boolean
  /** What the face adjusted of the request; undefined for nothing. */
  warnings?: readonly components['schemas']['Warning'][] | undefined
  /** Whether more than the first route may be tried. */
  fallback: boolean
  /** Whether a picture that may have been made and charged may be asked for again. */
  allowRepeat: boolean
  /** A process that ended may have asked for the same already. */
  isRepeat: boolean
  /** What idempotency keys for vendors are made from, where the caller has given one. */
  vendorKey: string | undefined
  /** Follows the call, where anybody does. */
  trace?: Trace | undefined
}
