import { LRUCache } from 'lru-cache'
import type { Kysely } from 'kysely'
import { schemaChecks } from '../../generated/checks.js'
import type { components } from '../../generated/types.ts'
import type { Actor, Caller } from '../core/caller.ts'
import type { Cassette, Interaction } from '../core/cassette.ts'
import { playCassette, recordedIn, type Recorded } from '../core/play-cassette.ts'
import { GatewayError } from '../core/error.ts'
import type { PageRequest } from '../core/page.ts'
import type { Encryption } from '../storage/encryption.ts'
import { insertNew } from '../storage/insert-new.ts'
import type { CassettesTable, Tables } from '../storage/tables.ts'
import type { ChangeParts } from './audit.ts'
import { newId } from './id.ts'
import { timeText } from './key-form.ts'
import { countOf, listPage } from './list-page.ts'
import { deflated, inflated } from './response-rows.ts'
import { sweepAgain, takeTurn } from './sweep.ts'

type Schemas = components['schemas']

type Options = Omit<ChangeParts, 'announce'> & {
  encryption: Encryption
  /** Called when an answer could not be stored. */
  onFault: (error: unknown) => void
}

/** The name of a cassette of an account. */
type Which = { accountId: string; name: string }

export type Cassettes = ReturnType<typeof createCassettes>

/** `importCassette` in openapi.yaml names these bounds. */
const cassettesPerAccountMax = 100
const interactionsMax = 1000
const cassetteBytesMax = 64 * 1024 * 1024
/** A cassette that was not changed for this time is removed. */
const ageMaxMs = 90 * 86_400_000
/** The cassettes in memory, which have twice this size there. */
const loadedBytesMax = 2 * cassetteBytesMax
/** The keys whose places in cassettes are known. */
const placesMax = 1000
const sweepMs = 3_600_000

/** The cassettes of accounts (docs/recipes/record-and-replay.md). */
export function createCassettes(options: Options) {
  const { audit, clock } = options
  const { db } = options.store
  const loaded = new LRUCache<string, Recorded>({ maxSize: loadedBytesMax })
  const places = new LRUCache<string, Set<number>>({ max: placesMax })
  const replayed = async (caller: Caller, which: Which): Promise<Cassette> => {
    const row = await find(options, which, {})
    const version = `${row.id} ${row.interactions}`
    let recorded = loaded.get(version)
    if (recorded === undefined) {
      recorded = recordedIn(which.name, await readAll(options, row))
      loaded.set(version, recorded, { size: Math.max(1, row.bytes) })
    }
    const place = `${caller.keyId} ${version}`
    const used = places.get(place) ?? new Set()
    places.set(place, used)
    return playCassette(recorded, used)
  }
  return {
    list: (accountId: string, page: PageRequest) =>
      listPage(cassettesOf(options, accountId), page, { time: 'created_at', toItem: cassetteForm }),
    /** Throws `not_found` for a missing cassette, as the other functions do. */
    export: async (which: Which): Promise<Schemas['CassetteFile']> => {
      const interactions = await readAll(options, await find(options, which))
      return { object: 'cassette_file', version: 1, interactions }
    },
    /** Replaces the cassette of this name. Throws `invalid_value` for a name that no key could have. */
    import: async (by: Actor, which: Which, { interactions }: Schemas['CassetteFile']) => {
      if (!schemaChecks.CassetteName(which.name)) throw misnamed()
      return cassetteForm(await store(options, by, which, interactions))
    },
    remove: (by: Actor, which: Which) =>
      db.transaction().execute(async (transaction) => {
        const row = await find({ ...options, store: { db: transaction } }, which)
        await removeRows(transaction, [row])
        const before = { interactions: row.interactions }
        await audit.write(transaction, by, { ...actOn('cassette.delete', which), before })
      }),
    /** The cassette of a call. Throws `not_found` for one to replay, `invalid_value` for a full one. */
    open: async (caller: Caller): Promise<Cassette | undefined> => {
      const { accountId, cassette: name, mode } = caller
      if (name === undefined) return undefined
      const which = { accountId, name }
      return mode === 'test' ? replayed(caller, which) : recording(options, which)
    },
    ...sweepAgain(
      async () => {
        if (!(await takeTurn(db, 'cassettes', clock(), sweepMs))) return false
        const old = db.selectFrom('cassettes').select('id')
        const rows = await old.where('updated_at', '<=', clock() - ageMaxMs).execute()
        await removeRows(db, rows)
        return true
      },
      { intervalMs: sweepMs, onSwept: (error) => error && options.onFault(error) },
    ),
  }
}

function misnamed(): GatewayError {
  const [error] = schemaChecks.CassetteName.errors ?? []
  const [form] = error?.parentSchema?.description?.split('\n') ?? []
  const text = `'name' is malformed. Expected: ${form} For example: "checkout".`
  return new GatewayError('invalid_value', text, { param: 'name' })
}

/** The cassettes that have not expired. */
function cassettesOf({ store: { db }, clock }: Pick<Options, 'store' | 'clock'>, id: string) {
  const rows = db.selectFrom('cassettes').selectAll().where('account_id', '=', id)
  return rows.where('updated_at', '>', clock() - ageMaxMs)
}

async function find(
  options: Pick<Options, 'store' | 'clock'>,
  { accountId, name }: Which,
  details: { param?: string } = { param: 'name' },
): Promise<CassettesTable> {
  const row = await cassettesOf(options, accountId).where('name', '=', name).executeTakeFirst()
  if (row !== undefined) return row
  const text = `The account has no cassette '${name}'. Import it with PUT /api/cassettes/${name}, or record it with a live key that has it.`
  throw new GatewayError('not_found', text, details)
}

async function removeRows(db: Kysely<Tables>, rows: readonly { id: string }[]): Promise<void> {
  for (const { id } of rows) {
    await db.deleteFrom('cassette_interactions').where('cassette_id', '=', id).execute()
    await db.deleteFrom('cassettes').where('id', '=', id).execute()
  }
}

/** Opens a cassette to record in, which the first call creates. */
async function recording(options: Options, which: Which): Promise<Cassette> {
  const { name, accountId } = which
  const own = () => cassettesOf(options, accountId).where('name', '=', name).executeTakeFirst()
  const row = (await own()) ?? (await create(options, which))
  const isFull =
    row.is_complete === 0 || row.interactions >= interactionsMax || row.bytes >= cassetteBytesMax
  if (isFull) {
    const text = `The cassette '${name}' is full: it has at most ${interactionsMax} interactions and 64 MiB. DELETE /api/cassettes/${name} to record it anew, or use another key.`
    throw new GatewayError('invalid_value', text)
  }
  return {
    plays: false,
    bytesMax: cassetteBytesMax,
    keep: (interaction) => append(options, row.id, interaction).catch(options.onFault),
  }
}

async function create(options: Options, which: Which): Promise<CassettesTable> {
  return options.store.db.transaction().execute(async (transaction) => {
    const row = await insert({ ...options, store: { db: transaction } }, which, [])
    // Another call may have created it at the same time.
    return row ?? find({ ...options, store: { db: transaction } }, which)
  })
}

/** Inserts a cassette in place of an expired one; undefined if there is one of this name. */
async function insert(
  options: Pick<Options, 'store' | 'clock'>,
  { accountId, name }: Which,
  texts: readonly Buffer[],
): Promise<CassettesTable | undefined> {
  const { db } = options.store
  const now = options.clock()
  const other = db.selectFrom('cassettes').select('id').where('account_id', '=', accountId)
  const expired = other.where('name', '=', name).where('updated_at', '<=', now - ageMaxMs)
  await removeRows(db, await expired.execute())
  if ((await countOf(cassettesOf(options, accountId))) >= cassettesPerAccountMax) {
    const text = `An account can have ${cassettesPerAccountMax} cassettes. Delete one first: DELETE /api/cassettes/{name}.`
    throw new GatewayError('invalid_value', text)
  }
  const row: CassettesTable = {
    id: newId('cas'),
    account_id: accountId,
    name,
    interactions: texts.length,
    bytes: texts.reduce((sum, { length }) => sum + length, 0),
    is_complete: 1,
    created_at: now,
    updated_at: now,
  }
  return (await insertNew(db, 'cassettes', row)) ? row : undefined
}

/** Adds an interaction, or marks the cassette as incomplete if it does not fit. */
async function append(
  options: Options,
  id: string,
  interaction: Interaction | undefined,
): Promise<void> {
  const { store, clock } = options
  const text = interaction && Buffer.from(JSON.stringify(interaction))
  const compressed = text && (await deflated(text))
  await store.db.transaction().execute(async (transaction) => {
    const row = transaction.updateTable('cassettes').where('id', '=', id)
    const added =
      text &&
      (await row
        .set((is) => ({
          interactions: is('interactions', '+', 1),
          bytes: is('bytes', '+', text.length),
          updated_at: clock(),
        }))
        .where('interactions', '<', interactionsMax)
        .where('bytes', '<=', cassetteBytesMax - text.length)
        .returning('interactions')
        .executeTakeFirst())
    if (added === undefined || compressed === undefined || text === undefined) {
      await row.set({ is_complete: 0 }).execute()
      return
    }
    const number = added.interactions
    const content = options.encryption.encrypt(compressed, contextOf(id, number))
    const values = { cassette_id: id, number, text_bytes: text.length, ...content }
    await transaction.insertInto('cassette_interactions').values(values).execute()
  })
}

async function store(
  options: Options,
  by: Actor,
  which: Which,
  interactions: readonly Interaction[],
): Promise<CassettesTable> {
  const texts = interactions.map((one) => Buffer.from(JSON.stringify(one)))
  const contents = await Promise.all(texts.map(deflated))
  return options.store.db.transaction().execute(async (transaction) => {
    const within = { ...options, store: { db: transaction } }
    const { accountId, name } = which
    const before = await cassettesOf(within, accountId).where('name', '=', name).executeTakeFirst()
    if (before !== undefined) await removeRows(transaction, [before])
    const row = await insert(within, which, texts)
    if (row === undefined || row.bytes > cassetteBytesMax)
      throw new GatewayError('invalid_value', 'A cassette has at most 64 MiB. Split the file.')
    for (const [index, content] of contents.entries()) {
      const number = index + 1
      const encrypted = options.encryption.encrypt(content, contextOf(row.id, number))
      const text_bytes = texts[index]!.length
      const values = { cassette_id: row.id, number, text_bytes, ...encrypted }
      await transaction.insertInto('cassette_interactions').values(values).execute()
    }
    const after = { interactions: row.interactions }
    await options.audit.write(transaction, by, { ...actOn('cassette.import', which), after })
    return row
  })
}

async function readAll(
  { store: { db }, encryption }: Options,
  { id, name }: CassettesTable,
): Promise<Interaction[]> {
  const rows = db.selectFrom('cassette_interactions').selectAll().where('cassette_id', '=', id)
  const found: Interaction[] = []
  for (const row of await rows.orderBy('number').execute()) {
    const bytes = encryption.decryptBytes(row, contextOf(id, row.number))
    if (bytes === undefined) {
      const text = `The cassette '${name}' cannot be decrypted: its encryption key is missing. Import it again.`
      throw new GatewayError('invalid_value', text)
    }
    // `append` or `store` wrote the text, and the encryption has authenticated it.
    found.push(JSON.parse((await inflated(bytes, row.text_bytes)).toString()) as Interaction)
  }
  return found
}

function actOn(
  action: Extract<Schemas['AuditAction'], `cassette.${string}`>,
  { accountId: account_id, name: target }: Which,
) {
  return { action, account_id, target }
}

/** Binds a ciphertext to its row. */
function contextOf(cassetteId: string, number: number): string {
  return `${cassetteId} ${number}`
}

function cassetteForm(row: CassettesTable): Schemas['Cassette'] {
  return {
    object: 'cassette',
    account_id: row.account_id,
    name: row.name,
    interactions: row.interactions,
    bytes: row.bytes,
    is_complete: row.is_complete === 1,
    created_at: timeText(row.created_at),
    updated_at: timeText(row.updated_at),
    expires_at: timeText(row.updated_at + ageMaxMs),
  }
}
