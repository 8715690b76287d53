import { sql, type Kysely } from 'kysely'
import { listed } from '../storage/sql-dialect.ts'
import type { PictureContentsTable, PictureFilesTable, Tables } from '../storage/tables.ts'
import type { StoreStatement } from '../storage/store.ts'

type Db = Kysely<Tables>
type Content = PictureContentsTable

/** The content that the account has already with these bytes. */
export async function findContent(
  db: Db,
  { account_id: accountId, digest }: Pick<Content, 'account_id' | 'digest'>,
  now: number,
): Promise<string | undefined> {
  const found = db
    .selectFrom('picture_contents')
    .select('place')
    .where('account_id', '=', accountId)
    .where('digest', '=', digest)
    .where('expires_at', '>', now)
    .where('state', 'in', ['stored', 'waiting'])
  return (await found.executeTakeFirst())?.place
}

/**
 * Adds a file, and extends the life of its content: from then on the content is not removed before the file
 * expires. False if the content is being removed.
 */
export async function addFile(
  db: Db,
  file: PictureFilesTable,
  written: Partial<Pick<Content, 'state'>> = {},
): Promise<boolean> {
  const { place, expires_at: end } = file
  return db.transaction().execute(async (transaction) => {
    const later = sql<number>`case when expires_at > ${end} then expires_at else ${end} end`
    const { numUpdatedRows } = await transaction
      .updateTable('picture_contents')
      .set({ expires_at: later, ...written })
      .where('place', '=', place)
      .where('state', '!=', 'removing')
      .executeTakeFirst()
    if (numUpdatedRows === 0n) return false
    await transaction.insertInto('picture_files').values(file).execute()
    return true
  })
}

/** A file with its content, if it has not expired. */
export async function findFile(
  db: Db,
  { id, accountId, now }: { id: string; accountId: string; now: number },
) {
  return db
    .selectFrom('picture_files as file')
    .innerJoin('picture_contents as content', 'content.place', 'file.place')
    .select(['file.id', 'file.mode', 'file.format', 'file.expires_at', 'file.account_id'])
    .select(['content.place', 'content.digest', 'content.bytes', 'content.encryption_key_id'])
    .where('file.id', '=', id)
    .where('file.account_id', '=', accountId)
    .where('file.expires_at', '>', now)
    .executeTakeFirst()
}

/** The bytes of an account's contents; of those whose files were deleted none count. */
export async function accountBytes(db: Db, accountId: string, now: number): Promise<number> {
  const sums = db
    .selectFrom('picture_contents')
    .select(({ fn }) => fn.sum<number | string | null>('bytes').as('bytes'))
    .where('account_id', '=', accountId)
    .where('expires_at', '>', now)
  return Number((await sums.executeTakeFirst())?.bytes ?? 0)
}

/** Statements that delete the files of owners, such as jobs, to be run in one transaction. */
export function pictureRemoval(db: Db, ownerIds: readonly string[]): StoreStatement[] {
  const owners = listed(db, ownerIds)
  const places = db.selectFrom('picture_files').select('place').where('owner_id', 'in', owners)
  return [
    // The sweep looks at them next; a content that another file uses gets its end back.
    db
      .updateTable('picture_contents')
      .set({ expires_at: 0 })
      .where('place', 'in', places)
      .compile(),
    db.deleteFrom('picture_files').where('owner_id', 'in', owners).compile(),
  ]
}

/** Rows that one statement of the sweep changes: few enough not to delay other queries. */
export const sweptRowsMax = 500

/** Deletes files that have expired; whether there may be more. */
export async function removeExpiredFiles(db: Db, now: number): Promise<boolean> {
  const expired = db.selectFrom('picture_files').select('id').where('expires_at', '<=', now)
  const { numDeletedRows } = await db
    .deleteFrom('picture_files')
    .where('id', 'in', expired.limit(sweptRowsMax))
    .executeTakeFirst()
  return numDeletedRows === BigInt(sweptRowsMax)
}

/**
 * Marks contents without files as being removed, and gives the others the end of their last file. A content that
 * a file is being added to has a later end then, so that no condition below is true for it.
 */
export async function markUnused(db: Db, now: number): Promise<boolean> {
  const due = await db
    .selectFrom('picture_contents')
    .select('place')
    .where('state', '!=', 'removing')
    .where('expires_at', '<=', now)
    .limit(sweptRowsMax)
    .execute()
  if (due.length === 0) return false
  const places = listed(
    db,
    due.map(({ place }) => place),
  )
  const dueNow = () =>
    db.updateTable('picture_contents').where('place', 'in', places).where('expires_at', '<=', now)
  const lastEnd = sql<number>`(select max(expires_at) from picture_files
    where picture_files.place = picture_contents.place)`
  await dueNow().set({ state: 'removing' }).where(lastEnd, 'is', null).execute()
  await dueNow().set({ expires_at: lastEnd }).where(lastEnd, 'is not', null).execute()
  return due.length === sweptRowsMax
}

/** Contents in a state, oldest end first. */
export async function contentsIn(db: Db, state: Content['state']): Promise<Content[]> {
  const rows = db.selectFrom('picture_contents').selectAll().where('state', '=', state)
  return rows.orderBy('expires_at').limit(sweptRowsMax).execute()
}
