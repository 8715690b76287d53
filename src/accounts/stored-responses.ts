import type { MemoryHold } from '../bytes/memory-budget.ts'
import type { Caller } from '../core/caller.ts'
import { GatewayError, assertTaken } from '../core/error.ts'
import { clocksDifferMaxMs } from '../core/time.ts'
import type { StoredItem, StoredResponse, StoredResponses } from '../core/stored-responses.ts'
import type { Encryption } from '../storage/encryption.ts'
import { listed } from '../storage/sql-dialect.ts'
import { processName } from '../storage/process-name.ts'
import type { StoredResponsesTable } from '../storage/tables.ts'
import type { GuardedStore } from '../storage/store-guard.ts'
import { ofCaller } from './background-rows.ts'
import {
  deflated,
  endResponse,
  excessResponses,
  failResponses,
  indexedItems,
  inflated,
  insertResponse,
  itemsOf,
  removal,
  removedRowsMax,
  removeResponses,
  type IndexedItems,
  type SealedRow,
} from './response-rows.ts'
import { sweepAgain, takeTurn } from './sweep.ts'
import type { WebhookEvent } from './webhooks/publishing.ts'

type Owner = Pick<Caller, 'accountId' | 'keyId' | 'mode' | 'models'>
type Row = StoredResponsesTable

type Options = {
  store: GuardedStore
  encryption: Encryption
  /** The current limits. */
  limits: () => {
    storedResponsesDays: number
    storedResponseBytesMax: number
    storedResponsesBytesMax: number
  }
  clock: () => number
  /** Called when the end of a response has queued an event. */
  onEvent: () => void
  /** Whether this process executes the call of a response. */
  isRunning: (id: string) => boolean
  events: {
    /** Reports a sweep; `error` is the reason if it failed. */
    worked(work: string, error?: unknown): void
    /** Reports an error that is no failure of the store. */
    faulted(error: unknown): void
  }
}

export type ResponseStore = StoredResponses & {
  /** Fails the responses in progress of a process that has ended. */
  failAll(owner: string): Promise<void>
  /** Removes expired responses now. Never rejects. */
  sweep(): Promise<void>
  close(): void
}

const dayMs = 86_400_000
const sweepMs = 60_000
/** The space of an account is computed again each time a process has stored this share of it. */
const checkedShare = 1 / 64
/** The space of a row without content, and of an item in the index. */
const rowBytes = 1024
const itemBytes = 256
/** Responses that are read for the references of one request. */
const referredResponsesMax = 100
/** The JSON text, its bytes, and the parsed content. */
const copies = 3

/** Another text is the id of no response. */
const responseId = /^[\w-]{1,128}$/

/** Responses in the store, encrypted (docs/storage.md#stored-responses). */
export function createStoredResponses(options: Options): ResponseStore {
  const { store, encryption, limits, clock, events } = options
  const onSwept = (error?: unknown) => events.worked('stored_responses', error)
  const { db } = store
  /** The bytes that this process has stored since the space of an account was computed. */
  let unchecked = new Map<string, number>()
  const sweep = async (): Promise<boolean> => {
    const now = clock()
    unchecked = new Map()
    if (!(await takeTurn(db, 'stored_responses', now, sweepMs))) return false
    // Those in progress expire after their end, so that a clock that jumps ahead ends none.
    const ended = db.selectFrom('stored_responses').select('id').where('owner', 'is', null)
    const expired = ended.where('expires_at', '<=', now)
    await removeResponses(store, () => expired.limit(removedRowsMax).execute())
    return true
  }
  const { look, close } = sweepAgain(sweep, { intervalMs: sweepMs, onSwept })
  /** Removes the oldest responses of an account whose space is used up. */
  const bound = async (accountId: string, bytes: number): Promise<void> => {
    const bytesMax = limits().storedResponsesBytesMax
    const since = (unchecked.get(accountId) ?? bytesMax) + bytes
    const isDue = since >= bytesMax * checkedShare
    unchecked.set(accountId, isDue ? 0 : since)
    if (isDue)
      await removeResponses(store, () => excessResponses(db, accountId, bytesMax)).catch(onSwept)
  }
  /** Writes a row, and then removes others if the account has no space. Never rejects. */
  const written = async <Other extends string>(
    write: () => Promise<SealedRow | Other>,
  ): Promise<'stored' | 'failed' | Other> => {
    try {
      const row = await write()
      if (typeof row !== 'object') return row
      await bound(row.account_id, row.size_bytes)
      return 'stored'
    } catch (error) {
      // The store reports its own failures.
      if (!(error instanceof GatewayError)) events.faulted(error)
      return 'failed'
    }
  }
  return {
    isOn: () => limits().storedResponsesDays > 0 && encryption.canEncrypt(),
    put: (caller, stored, memory) => written(() => put(options, { caller, stored, memory })),
    end: (caller, stored, memory) => written(() => end(options, { caller, stored, memory })),
    get: (caller, id, memory) => read(options, caller, id, memory),
    remove: async (caller, id) => {
      const own = ownRow(options, caller, id)
      const found = own && (await store.decide(() => own.select('id').executeTakeFirst()))
      if (found === undefined) return false
      const changes = await store.decide(() => store.commit(removal(db, [id])))
      return changes[0]! > 0
    },
    items: (...call) => findItems(options, ...call),
    failAll: (owner) => failResponses(store, owner, clock()),
    sweep: look,
    close,
  }
}

type Putting = { caller: Owner; stored: StoredResponse; memory: MemoryHold }

/** Stores a response. */
async function put(options: Options, putting: Putting): Promise<SealedRow | 'too_large'> {
  const { store } = options
  const { createdAtMs, runsUntil = null } = putting.stored
  return sealed(options, putting, async (content, items) => {
    const row: Row = {
      ...content,
      key_id: putting.caller.keyId,
      created_at: createdAtMs,
      expires_at: expiryOf(options),
      runs_until: runsUntil,
      owner: runsUntil === null ? null : processName,
    }
    await store.decide(() => insertResponse(store, row, items))
    return content
  })
}

/** When a response expires that is stored now. */
function expiryOf({ clock, limits }: Options): number {
  return clock() + limits().storedResponsesDays * dayMs
}

/** Replaces a response in progress by its end. */
async function end(options: Options, putting: Putting): Promise<SealedRow | 'too_large' | 'ended'> {
  const { store, clock, onEvent } = options
  // The items of the input are in the index since the response began.
  const items = indexedItems({ input: [], response: putting.stored.response })
  const event = eventOf(putting)
  return sealed(options, putting, async (content) => {
    const times = { lateAt: lateAt(clock), expiresAt: expiryOf(options), now: clock() }
    const end = { items, event, ...times }
    const changes = await store.decide(() => endResponse(store, content, end))
    if (event !== undefined && changes.at(-2)! > 0) onEvent()
    return changes.at(-1)! > 0 ? content : 'ended'
  })
}

/** The event of the end of a response. */
function eventOf({ caller: { accountId, mode }, stored }: Putting): WebhookEvent | undefined {
  const { status } = stored.response
  if (status === undefined || status === 'in_progress') return undefined
  return { accountId, mode, type: `response.${status}`, objectId: stored.id }
}

/** Encrypts a response, and writes it with the items of the index. */
async function sealed<Written>(
  { encryption, limits }: Options,
  { caller, stored, memory }: Putting,
  write: (row: SealedRow, items: IndexedItems) => Promise<Written>,
): Promise<Written | 'too_large'> {
  const { id, input, response } = stored
  const { storedResponseBytesMax: bytesMax } = limits()
  const text = Buffer.from(JSON.stringify({ input, response }))
  if (text.length > bytesMax) return 'too_large'
  take(memory, text.length)
  const { accountId: account_id, mode } = caller
  const items = indexedItems(stored)
  const content = encryption.encrypt(await deflated(text), contextOf({ id, account_id, mode }))
  const entries = items.added.length + items.ids.length
  const size_bytes = content.ciphertext.length + rowBytes + entries * itemBytes
  const row = { id, account_id, mode, text_bytes: text.length, size_bytes, ...content }
  try {
    return await write(row, items)
  } finally {
    memory.give(copies * text.length)
  }
}

/** The row of a response, for every access to it; undefined if no response has such an id. */
function ownRow({ store, clock }: Options, caller: Owner, id: string) {
  if (!responseId.test(id)) return undefined
  const rows = store.db.selectFrom('stored_responses').where(ofCaller(caller, clock()))
  return rows.where('id', '=', id)
}

async function read(
  options: Options,
  caller: Owner,
  id: string,
  memory: MemoryHold,
): Promise<StoredResponse | undefined> {
  const { store, encryption, clock, isRunning } = options
  const own = ownRow(options, caller, id)
  if (own === undefined) return undefined
  const size = await store.decide(() => own.select('text_bytes').executeTakeFirst())
  if (size === undefined) return undefined
  take(memory, size.text_bytes)
  const row = await store.decide(() => own.selectAll().executeTakeFirst())
  const bytes = row && encryption.decryptBytes(row, contextOf(row))
  if (row === undefined || bytes === undefined) return undefined
  // It may have ended since its size was read.
  if (row.text_bytes > size.text_bytes) take(memory, row.text_bytes - size.text_bytes)
  const text = await inflated(bytes, row.text_bytes)
  // `put` wrote the text, and the encryption has authenticated it.
  const content = JSON.parse(text.toString()) as Pick<StoredResponse, 'input' | 'response'>
  const { created_at: createdAtMs, runs_until: runsUntil } = row
  if (runsUntil === null) return { id, createdAtMs, ...content }
  const isLate = runsUntil < lateAt(clock) && !isRunning(id)
  const response = isLate ? interrupted(content.response) : content.response
  return { id, createdAtMs, input: content.input, response, runsUntil }
}

/** A response in progress has failed if `runs_until` is before this time. */
function lateAt(clock: () => number): number {
  return clock() - clocksDifferMaxMs
}

/** The response of a process that ended without writing its end. */
function interrupted(response: StoredResponse['response']): StoredResponse['response'] {
  const message =
    'The gateway was stopped before the response was complete. Send the request again.'
  return { ...response, status: 'failed', error: { code: 'server_error', message } }
}

async function findItems(
  options: Options,
  ...[caller, ids, memory]: Parameters<StoredResponses['items']>
): ReturnType<StoredResponses['items']> {
  const { store } = options
  const rows = await store.decide(() =>
    store.db
      .selectFrom('stored_response_items')
      .select(['item_id', 'latest_id'])
      .where('account_id', '=', caller.accountId)
      .where('mode', '=', caller.mode)
      .where('item_id', 'in', listed(store.db, ids))
      .execute(),
  )
  const found = new Map<string, StoredItem>()
  // The newest response of a conversation has all its items, so there are few responses to read.
  const byResponse = Map.groupBy(rows, ({ latest_id: latest }) => latest)
  for (const [id, wanted] of [...byResponse].slice(0, referredResponsesMax)) {
    const stored = await read(options, caller, id, memory)
    const items = stored === undefined ? [] : itemsOf(stored)
    const byId = new Map(items.map((item) => [item.id, item]))
    for (const { item_id: itemId } of wanted) {
      const item = byId.get(itemId)
      if (item !== undefined) found.set(itemId, item)
    }
  }
  return found
}

/** Reserves memory for content of this size. Throws a GatewayError. */
function take(memory: MemoryHold, bytes: number): void {
  assertTaken(memory.take(copies * bytes))
}

/** Binds a ciphertext to its row. */
function contextOf({ id, account_id: accountId, mode }: Pick<Row, 'id' | 'account_id' | 'mode'>) {
  return `${accountId} ${mode} ${id}`
}
