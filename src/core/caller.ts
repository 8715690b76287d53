import type { components } from '../../generated/types.ts'
import type { MemoryHold } from '../bytes/memory-budget.ts'
import type { Ending } from './resilience/ending.ts'
import type { LoggedRow, Trace } from './trace.ts'
import type { VendorTasks } from './turn.ts'

type Schemas = components['schemas']
export type Mode = Schemas['Mode']
export type Scope = Schemas['Scope']
export type Role = Schemas['Role']

/** What an OpenID provider states about a person, and the role that this gives them. */
export type Identity = {
  issuer: string
  subject: string
  email: string | undefined
  isEmailVerified: boolean
  name: string | undefined
  role: Role
}

/** The limits that are set for an account, a key or a member; null for a limit that is not set. */
export type UsageLimits = {
  requestsPerMinute: number | null
  tokensPerMinute: number | null
  imagesPerMinute: number | null
  /** Concurrent calls. */
  concurrency: number | null
}

/** The amount that may be spent in each period. */
export type SpendingLimit = { nanoUsd: number; period: Schemas['BudgetPeriod'] }

/** The limits and the budget of an account, a key, a member or a tag. */
export type Allowance = {
  /** The id of the account or of the key; of others as accounts/budget-owners.ts makes it. */
  ownerId: string
  limits: UsageLimits
  budget: SpendingLimit | null
}

export type SignedInPerson = {
  id: string
  sessionId: string
  /** The role in the current account. */
  role: Role
  /** The CSRF token that requests with side effects must carry. */
  csrfToken: string
}

/** The account, and the API key or the session, that a request is authenticated with. */
export type Caller = {
  accountId: string
  /** The id of the API key, or of the session of a person. */
  keyId: string
  mode: Mode
  /** Records the vendors' answers to a live key; replays them for a test key. */
  cassette?: string
  /** What the sandbox plays for this test key of a provider state; empty for an ordinary answer. */
  played?: string
  /** The models that this key may call; null for all. */
  models: readonly string[] | null
  scopes: readonly Scope[]
  /** Networks that the key may be used from, as CIDR; null for all. */
  networks: readonly string[] | null
  /** The limits of the account, of the key, and of the person who made it if they have some; all apply. */
  allowances: readonly [account: Allowance, key: Allowance, ...member: Allowance[]]
  /** The budgets of tags of this key; absent without. */
  tagBudgets?: ReadonlyMap<string, Allowance>
  /** Whether the person who made this live key may call only the sandbox; then `models` is empty. */
  isSandboxOnly?: true
  /** Whether the caller belongs to the first account, which operates the gateway. */
  isOperator: boolean
  /** Whether the account keeps the prompts of its image jobs. */
  keepsPrompts?: true
  /** The API key of an OAuth connection, or the session of a session key, with which access ends. */
  boundTo?: string
  /** The person who created an administrative key; the key has at most their current permissions. */
  creatorId?: string
  /** Whether the request has an access token of an OAuth client instead of its key. */
  hasToken?: true
  /** Absent for an API key. */
  person?: SignedInPerson
}

export type PersonCaller = Caller & { person: SignedInPerson }

/** Whether the caller is a signed-in person and not an API key. */
export function isPerson(caller: Caller): caller is PersonCaller {
  return caller.person !== undefined
}

/** The originator of an administrative action, for the audit log. */
export type Actor = {
  /** The API key or the person; `command_line` for the gateway's own commands. */
  id: string
  /** The network address of the originator. */
  address: string | null
}

/** The originator of an action on accounts or keys, with their permissions. */
export type Administrator = Actor & Pick<Caller, 'accountId' | 'scopes' | 'isOperator'>

/** The credentials of a request, by the header that contained them. */
export type Credentials = { authorization: string | undefined; apiKey: string | undefined }

/**
 * Authenticates a request. Throws `missing_api_key`, `invalid_api_key`, `expired_api_key`, and for an
 * access token `invalid_token`.
 */
export type Identify = (credentials: Credentials) => Promise<Caller> | Caller

/** The API that received the call. */
export type Face = components['schemas']['Face']

/** One call and its options. */
export type CallContext = {
  caller: Caller
  /** Unique; identifies the call in logs and in the ledger. */
  requestId: string
  /** The HTTP request, whose log line shows the row of the call that has its id. */
  exchange: { requestId: string; row?: LoggedRow | undefined }
  face: Face
  ending: Ending
  /** The memory that the call has reserved. */
  memory: MemoryHold
  /** Whether the answer may come from the cache, and be stored there with the lifetime `ttlMs`. */
  cache: { mayRead: boolean; mayStore: boolean; ttlMs: number | undefined }
  /** Whether to refuse a request that would be adjusted with a warning. */
  strict: boolean
  /** Adjustments made when the request was read; undefined when there were none. */
  warnings?: readonly components['schemas']['Warning'][] | undefined
  /** Labels for reports; undefined for none. */
  tags?: readonly string[] | undefined
  /** Whether more than the first route may be tried. */
  fallback: boolean
  /** Whether a picture that the vendor may have made and charged may be requested again. */
  allowRepeat: boolean
  /** Whether a process that has ended may have sent this request to a vendor. */
  isRepeat: boolean
  /** The prefix of idempotency keys for vendors; undefined when the caller sent no key. */
  vendorKey: string | undefined
  /** Absent when the call is not traced. */
  trace?: Trace | undefined
  /**
   * Called, and awaited, before the first provider is asked, when nothing refuses the call any more. Such a
   * call does not wait for the answer of an identical one. Throws a GatewayError.
   */
  begin?: ((start: CallStart) => Promise<void>) | undefined
  /** Where the tasks of a job are stored; absent for a call that is no job. */
  tasks?: VendorTasks | undefined
}

/** The model that is asked first, and the Unix times in milliseconds of the start and of the deadline. */
export type CallStart = { modelId: string; startedAt: number; endsAt: number }

/** A request that was answered, or whose client disconnected. */
export type FinishedExchange = CallContext['exchange'] & {
  method: string
  path: string
  status: number
  durationMs: number
  caller: Caller | undefined
  error: unknown
  /** Whether the client disconnected before the end of the response. */
  left: boolean
  /** Whether the answer was streamed. */
  isStream: boolean
}

/** Whether a path is requested by monitoring every few seconds; such requests are not traced. */
export function isCheck(path: string): boolean {
  return path === '/health' || path === '/ready' || path === '/metrics'
}
