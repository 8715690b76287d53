import { hash } from 'node:crypto'
import { piecesLength } from '../bytes/pieces.ts'
import type { Caller } from '../core/caller.ts'
import { clocksDifferMaxMs } from '../core/time.ts'
import { GatewayError, assertTaken } from '../core/error.ts'
import { repeatHeader } from '../core/failure.ts'
import {
  KeyInUse,
  type Claim,
  type Claimed,
  type ClaimKey,
  type KeyedRequest,
} from '../core/repeats/idempotency.ts'
import { hasEnded, processName } from '../storage/process-name.ts'
import type { GuardedStore } from '../storage/store-guard.ts'
import type { IdempotentAnswersTable } from '../storage/tables.ts'
import {
  createAnswerStore,
  type AnswerStore,
  createStoredAnswerBytes,
  type StoredAnswerBytes,
} from './answer-store.ts'

type Row = IdempotentAnswersTable

type Options = {
  store: GuardedStore
  /** The current settings. */
  limits: () => {
    idempotencyBytesMax: number
    idempotencyAnswerBytesMax: number
    idempotentAnswerDays: number
    chatTimeoutMs: number
    imageTimeoutMs: number
  }
  /** Unix time in milliseconds. */
  clock: () => number
  /** Called with errors after the answer. */
  onFault: (error: unknown) => void
  /** Whether other processes store answers in the same store. */
  isOneOfSeveral?: boolean
}

const dayMs = 86_400_000
/** This long after its deadline, a request has ended by the clock of any replica. */
const deadlineSpareMs = 60_000 + clocksDifferMaxMs
const sweepIntervalMs = 60_000
const takesMax = 3

type Parts = Options & {
  answerStore: AnswerStore
  storedBytes: StoredAnswerBytes
  /** The ids of requests that this process works on. */
  running: Set<string>
  /** Rows of requests without a result that could not be removed yet. */
  freed: Map<string, Row>
}

/** Answers by idempotency keys, kept in the store for `idempotent_answer_days` (docs/behaviour.md#idempotency). */
export function createIdempotency(options: Options) {
  const { store, limits, clock, onFault } = options
  const answerStore = createAnswerStore(store.db)
  const storedBytes = createStoredAnswerBytes(() => limits().idempotencyBytesMax)
  const parts: Parts = {
    ...options,
    answerStore,
    storedBytes,
    running: new Set(),
    freed: new Map(),
  }
  const count = () => answerStore.bytesByAccount().then(storedBytes.count)
  const counted = count().catch(onFault)
  const sweep = async () => {
    for (const [id, row] of parts.freed) {
      await answerStore.remove(row)
      parts.freed.delete(id)
    }
    await answerStore.sweep(clock(), storedBytes.give)
    // The count then includes the rows that other processes added or removed.
    if (options.isOneOfSeveral === true) await count()
  }
  let sweeping: Promise<void> | undefined
  const timer = setInterval(() => {
    sweeping ??= sweep()
      .catch(onFault)
      .finally(() => (sweeping = undefined))
  }, sweepIntervalMs)
  timer.unref()
  return {
    claimKey: ((request) => claimKey(request, parts)) satisfies ClaimKey,
    close: async () => {
      clearInterval(timer)
      await Promise.all([counted, sweeping])
    },
  }
}

async function claimKey(request: KeyedRequest, parts: Parts): Promise<Claimed> {
  const { store, answerStore, storedBytes, running } = parts
  const { requestId, caller } = request
  store.assertWritable()
  const refusal = storedBytes.refusal(caller.accountId)
  if (refusal !== undefined) throw full(refusal)
  const row = rowOf(request, parts)
  // The id is added before the row exists: a request that finds the row looks for the id in `running`.
  running.add(requestId)
  try {
    for (let takes = 0; takes < takesMax; takes++) {
      if (await answerStore.take(row)) return taken(row, parts)
      const found = await answerStore.find(row)
      if (found === undefined) continue
      const next = judge(found, request, parts)
      if (next === 'answer') {
        running.delete(requestId)
        return { stored: await answerOf(found, request, parts) }
      }
      if (await answerStore.takeOver(row, found)) {
        storedBytes.give(found.account_id, found.body_bytes)
        return taken(row, parts, next === 'repeat' ? found.id : undefined)
      }
    }
    throw inUse(0, requestId)
  } catch (thrown) {
    running.delete(requestId)
    throw thrown instanceof GatewayError ? thrown : notKept(thrown)
  }
}

function rowOf(request: KeyedRequest, { clock, limits }: Parts): Row {
  const { caller, operation, fingerprint, requestId } = request
  const { chatTimeoutMs, imageTimeoutMs, idempotentAnswerDays } = limits()
  const now = clock()
  const longestMs = Math.max(chatTimeoutMs, imageTimeoutMs)
  return {
    key_digest: digestOf(caller, request.key),
    id: requestId,
    account_id: caller.accountId,
    key_id: caller.keyId,
    operation,
    fingerprint,
    state: 'in_progress',
    owner: processName,
    http_status: null,
    headers: null,
    body_bytes: 0,
    created_at: now,
    deadline_at: now + longestMs + deadlineSpareMs,
    expires_at: now + idempotentAnswerDays * dayMs,
  }
}

/** A digest that does not reveal the key; equal keys of two accounts have different digests. */
function digestOf({ accountId, mode }: Caller, key: string): string {
  return hash('sha256', `${accountId}\n${mode}\n${key}`, 'base64url')
}

/** What an existing row means for the request: return its answer, repeat the work, or ignore the row. */
function judge(row: Row, request: KeyedRequest, parts: Parts): 'answer' | 'repeat' | 'anew' {
  const { running, freed, clock } = parts
  const now = clock()
  const isWorkedOn = row.state === 'in_progress' && isAlive(row, now, running)
  if (freed.has(row.id) || (row.expires_at <= now && !isWorkedOn)) return 'anew'
  assertSame(row, request)
  if (isWorkedOn) throw inUse(now - row.created_at, row.id)
  if (row.state === 'in_progress') return 'repeat'
  if (row.state === 'done') return 'answer'
  if (request.allowRepeat) return 'repeat'
  if (row.state === 'lost') throw lost(row)
  return 'answer'
}

function isAlive(row: Row, now: number, running: ReadonlySet<string>): boolean {
  if (row.owner === processName) return running.has(row.id)
  return now < row.deadline_at && !hasEnded(row.owner)
}

function assertSame(row: Row, { operation, fingerprint, caller }: KeyedRequest): void {
  if (row.operation !== operation) {
    throw reused(`was used for ${row.operation} before. Use another one for ${operation}.`)
  }
  if (row.fingerprint !== fingerprint) {
    throw reused('was used for another request before. Use a new one for each request.')
  }
  // An API key must not get answers of models that it may not call.
  if (row.key_id !== caller.keyId && caller.models !== null) {
    throw reused('was used with another API key before, and this one may not call all models.')
  }
}

async function answerOf(row: Row, { memory }: KeyedRequest, { answerStore }: Parts) {
  assertTaken(memory.take(row.body_bytes))
  const body = await answerStore.pieces(row)
  if (body === undefined) throw lost(row)
  // `store` wrote the headers as JSON.
  const headers = JSON.parse(row.headers ?? '{}') as Record<string, string>
  return { status: row.http_status, headers, body, requestId: row.id }
}

function taken(row: Row, parts: Parts, earlierId?: string): Claimed {
  const { answerStore, storedBytes, running, freed, limits, onFault } = parts
  const { id, account_id: accountId } = row
  storedBytes.take(accountId)
  const vendorKey = hash('sha256', `${row.key_digest}\n${id}`, 'base64url')
  const bytesMax = limits().idempotencyAnswerBytesMax
  const end = async (write: () => Promise<void>) => {
    await write().catch(onFault)
    running.delete(id)
  }
  const lose = async () => void (await answerStore.finish(row, { state: 'lost' }))
  const store: Claim['store'] = (answer, isUnknown = false) =>
    end(async () => {
      const body = answer.body.map((piece) =>
        typeof piece === 'string' ? Buffer.from(piece) : piece,
      )
      const bytes = piecesLength(body)
      if (bytes > bytesMax) return lose()
      const state = isUnknown ? 'unknown' : 'done'
      const ended = { state, http_status: answer.status, body_bytes: bytes } as const
      try {
        await answerStore.put(row, body)
        const headers = JSON.stringify(answer.headers)
        if (await answerStore.finish(row, { ...ended, headers })) storedBytes.grow(accountId, bytes)
      } catch (error) {
        await lose()
        throw error
      }
    })
  const free = () =>
    end(async () => {
      freed.set(id, row)
      storedBytes.give(accountId, 0)
      await answerStore.remove(row)
      freed.delete(id)
    })
  const isRepeat = earlierId !== undefined
  return { claim: { isRepeat, earlierId, vendorKey, bytesMax, store, lose: () => end(lose), free } }
}

const retryAfterSecondsMax = 30

/** The client should wait as long as the request has taken so far. */
function inUse(elapsedMs: number, requestId: string): GatewayError {
  const seconds = Math.min(Math.max(Math.ceil(elapsedMs / 1000), 1), retryAfterSecondsMax)
  const text =
    'The first request with this Idempotency-Key is still being answered. Ask again in a moment.'
  const cause = new KeyInUse(requestId)
  const options = { param: 'idempotency-key', retryAfterSeconds: seconds, cause }
  return new GatewayError('idempotency_key_in_use', text, options)
}

function reused(how: string): GatewayError {
  const text = `This Idempotency-Key ${how}`
  return new GatewayError('idempotency_key_reused', text, { param: 'idempotency-key' })
}

function lost({ id }: Row): GatewayError {
  const text =
    `The request with this Idempotency-Key was answered as ${id}, and the answer could not be kept. ` +
    `To have it made again, use a new key, or the header '${repeatHeader}: true'.`
  return new GatewayError('idempotency_key_reused', text, { param: 'idempotency-key' })
}

function notKept(cause: unknown): GatewayError {
  const text =
    'The gateway cannot keep answers for an Idempotency-Key at the moment. Try again in a moment.'
  return new GatewayError('overloaded', text, { cause, retryAfterSeconds: 5 })
}

function full(whose: 'account' | 'process'): GatewayError {
  const who = whose === 'account' ? 'this account' : 'the gateway'
  const text = `The answers that ${who} stores for Idempotency-Keys have reached their size limit. Try again later, or without a key.`
  const code = whose === 'account' ? 'rate_limit_exceeded' : 'overloaded'
  return new GatewayError(code, text, { retryAfterSeconds: 60 })
}
