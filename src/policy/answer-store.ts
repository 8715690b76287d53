import { sql, type Kysely } from 'kysely'
import { joinPieces, piecesLength, slicePieces, type Pieces } from '../bytes/pieces.ts'
import { insertNew } from '../storage/insert-new.ts'
import type { IdempotentAnswersTable, Tables } from '../storage/tables.ts'

type Row = IdempotentAnswersTable

/** The stored answers by idempotency keys. All functions reject with a StoreError. */
export type AnswerStore = ReturnType<typeof createAnswerStore>

const pieceBytes = 262_144
const sweptPiecesMax = 64
const sweptRowsMax = 200

/** Works in the store's thread, in steps small enough not to delay other queries. */
export function createAnswerStore(db: Kysely<Tables>) {
  return {
    ...taking(db),
    /** Stores the body of an answer. */
    put: async ({ id, expires_at }: Row, body: Pieces): Promise<void> => {
      let position = 0
      for (const content of cut(body)) {
        const piece = { answer_id: id, position: position++, content, expires_at }
        await db.insertInto('idempotent_answer_pieces').values(piece).execute()
      }
    },
    /** Sets the result of the request; false if the row no longer exists. */
    finish: async (
      { key_digest, id }: Row,
      end: Partial<Row> & Pick<Row, 'state'>,
    ): Promise<boolean> => {
      const { numUpdatedRows } = await db
        .updateTable('idempotent_answers')
        .set(end)
        .where('key_digest', '=', key_digest)
        .where('id', '=', id)
        .executeTakeFirst()
      return numUpdatedRows > 0n
    },
    pieces: (row: Row) => readPieces(db, row),
    remove: async ({ key_digest, id }: Row): Promise<void> => {
      await db
        .deleteFrom('idempotent_answers')
        .where('key_digest', '=', key_digest)
        .where('id', '=', id)
        .execute()
    },
    sweep: (now: number, onRemoved: OnRemoved) => sweep(db, now, onRemoved),
    bytesByAccount: () =>
      db
        .selectFrom('idempotent_answers')
        .select(({ fn }) => [
          'account_id as accountId',
          fn.sum<number>('body_bytes').as('bytes'),
          fn.countAll<number>().as('answers'),
        ])
        .groupBy('account_id')
        .execute(),
  }
}

function taking(db: Kysely<Tables>) {
  return {
    /** Inserts a row; true for only one of concurrent requests with the same key. */
    take: (row: Row): Promise<boolean> => insertNew(db, 'idempotent_answers', row),
    find: ({ key_digest: digest }: Row): Promise<Row | undefined> =>
      db
        .selectFrom('idempotent_answers')
        .selectAll()
        .where('key_digest', '=', digest)
        .executeTakeFirst(),
    /** Replaces the row that was found; false if another request has replaced it first. */
    takeOver: async (row: Row, answer: Row): Promise<boolean> => {
      const { numUpdatedRows } = await db
        .updateTable('idempotent_answers')
        .set(row)
        .where('key_digest', '=', row.key_digest)
        .where('id', '=', answer.id)
        .executeTakeFirst()
      if (numUpdatedRows === 0n) return false
      await db.deleteFrom('idempotent_answer_pieces').where('answer_id', '=', answer.id).execute()
      return true
    },
  }
}

/** The body of an answer; undefined if it is incomplete. */
async function readPieces(
  db: Kysely<Tables>,
  { id, body_bytes: bytes }: Row,
): Promise<Buffer[] | undefined> {
  const read: Buffer[] = []
  for (let left = bytes; left > 0; left -= read.at(-1)!.length) {
    const piece = await db
      .selectFrom('idempotent_answer_pieces')
      .select('content')
      .where('answer_id', '=', id)
      .where('position', '=', read.length)
      .executeTakeFirst()
    if (piece === undefined) return undefined
    const { buffer, byteOffset, byteLength } = piece.content
    read.push(Buffer.from(buffer, byteOffset, byteLength))
  }
  return read
}

/**
 * Cuts a body into pieces of one size, each in its own memory, since the whole memory below a buffer is
 * copied between threads.
 */
function* cut(body: Pieces): Generator<Uint8Array> {
  const bytes = piecesLength(body)
  for (let at = 0; at < bytes; at += pieceBytes) {
    yield new Uint8Array(joinPieces(slicePieces(body, at, at + pieceBytes)))
  }
}

type OnRemoved = (accountId: string, bytes: number) => void

/** Removes expired rows in small batches and calls `onRemoved` for each answer. */
async function sweep(db: Kysely<Tables>, now: number, onRemoved: OnRemoved): Promise<void> {
  let removed: number
  do {
    const { numDeletedRows } = await db
      .deleteFrom('idempotent_answer_pieces')
      .where(
        sql<boolean>`(answer_id, position) in (select answer_id, position
          from idempotent_answer_pieces where expires_at <= ${now} limit ${sweptPiecesMax})`,
      )
      .executeTakeFirst()
    removed = Number(numDeletedRows)
  } while (removed === sweptPiecesMax)
  do {
    const rows = await db
      .deleteFrom('idempotent_answers')
      .where(
        sql<boolean>`key_digest in (select key_digest
          from idempotent_answers where expires_at <= ${now} limit ${sweptRowsMax})`,
      )
      .returning(['account_id', 'body_bytes'])
      .execute()
    for (const row of rows) onRemoved(row.account_id, row.body_bytes)
    removed = rows.length
  } while (removed === sweptRowsMax)
}

export type StoredAnswerBytes = ReturnType<typeof createStoredAnswerBytes>

/** The size of a row without the answer. */
const rowBytes = 1024
const accountShare = 0.5

/** Counts bytes on top of the store's last count; an account may use half of the limit. */
export function createStoredAnswerBytes(bytesMax: () => number) {
  const bytesByAccount = new Map<string, number>()
  let total = 0
  const add = (accountId: string, bytes: number) => {
    const now = (bytesByAccount.get(accountId) ?? 0) + bytes
    total += bytes
    if (now > 0) bytesByAccount.set(accountId, now)
    else bytesByAccount.delete(accountId)
  }
  return {
    /** Whether the limit of the account or of the process is reached; undefined if neither is. */
    refusal: (accountId: string): 'account' | 'process' | undefined => {
      if (total + rowBytes > bytesMax()) return 'process'
      const own = bytesByAccount.get(accountId) ?? 0
      return own + rowBytes > bytesMax() * accountShare ? 'account' : undefined
    },
    /** Counts a new row. */
    take: (accountId: string) => add(accountId, rowBytes),
    /** Counts more bytes of an answer. */
    grow: add,
    /** Subtracts a removed row and the bytes of its answer. */
    give: (accountId: string, bytes: number) => add(accountId, -bytes - rowBytes),
    /** Replaces the counts by the counts of the store, which include the rows of other processes. */
    count: (kept: Awaited<ReturnType<AnswerStore['bytesByAccount']>>): void => {
      bytesByAccount.clear()
      total = 0
      for (const { accountId, bytes, answers } of kept) add(accountId, bytes + answers * rowBytes)
    },
  }
}
