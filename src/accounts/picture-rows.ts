import { sql, type Kysely, type RawBuilder } from 'kysely'
import type { ImageJob } from '../core/image/jobs.ts'
import type { PictureFile } from '../core/picture-files.ts'
import { listed } from '../storage/sql-dialect.ts'
import type { PictureContentsTable as Content, Tables } from '../storage/tables.ts'
import type { StoreStatement } from '../storage/store.ts'

type Db = Kysely<Tables>
type Times = { now: number; until: number }

/** The rows of contents with these bytes that other files of the account can share. */
const sameContent = ({ account_id, digest }: Pick<Content, 'account_id' | 'digest'>, now: number) =>
  sql<boolean>`account_id = ${account_id} and digest = ${digest} and state = 'stored'
    and expires_at > ${now}`

/** A statement that begins a content, unless the account has one with the same bytes. It stays without a file until then. */
export function beginningContent(
  { place, bytes, encryption_key_id, ...same }: Omit<Content, 'state' | 'expires_at'>,
  { now, until }: Times,
): RawBuilder<unknown> {
  return sql`insert into picture_contents (
      place, account_id, digest, bytes, state, expires_at, encryption_key_id)
    select ${place}, ${same.account_id}, ${same.digest}, ${integer(bytes)}, 'writing',
      ${integer(until)}, ${encryption_key_id}
    where not exists (select 1 from picture_contents where ${sameContent(same, now)})`
}

/** Keeps a content with these bytes until then, also without a file; undefined if there is none any more. */
export async function keepContent(
  db: Db,
  same: Pick<Content, 'account_id' | 'digest'>,
  { now, until }: Times,
): Promise<string | undefined> {
  const keeping = db
    .updateTable('picture_contents')
    .set({ state: 'writing', expires_at: until })
    .where(sameContent(same, now))
    .returning('place')
  return (await keeping.executeTakeFirst())?.place
}

/** Statements that add the files of a job under a condition; their contents exist as long as they do. */
export function addingFiles(
  { accountId, mode, id: owner }: Pick<ImageJob, 'accountId' | 'mode' | 'id'>,
  files: readonly PictureFile[],
  now: number,
  condition: RawBuilder<unknown>,
): RawBuilder<unknown>[] {
  const adding = files.map(
    ({ id, format, place, expiresAtMs }) =>
      sql`insert into picture_files (
          id, account_id, mode, owner_id, place, format, created_at, expires_at)
        select ${id}, ${accountId}, ${mode}, ${owner}, place, ${format}, ${integer(now)},
          ${integer(expiresAtMs)}
        from picture_contents where place = ${place} and state <> 'removing' and ${condition}`,
  )
  const places = sql`(select place from picture_files where owner_id = ${owner})`
  return [...adding, sql`update picture_contents set ${inUse} where place in ${places}`]
}

/** PostgreSQL does not derive the type of a selected parameter. */
const integer = (value: number) => sql`cast(${value} as bigint)`

const lastEnd = sql<number>`(select max(expires_at) from picture_files
  where picture_files.place = picture_contents.place)`
/** The columns of a content with files. */
const inUse = sql`expires_at = ${lastEnd},
  state = case state when 'writing' then 'stored' else state end`

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

/** Statements that delete the files of a job, to be run in one transaction. */
export function pictureRemoval(db: Db, jobId: string): StoreStatement[] {
  const places = db.selectFrom('picture_files').select('place').where('owner_id', '=', jobId)
  return [
    // The sweep looks at them next; a content that another file uses gets its end back.
    db
      .updateTable('picture_contents')
      .set({ expires_at: 0 })
      .where('place', 'in', places)
      // Another job keeps it, and has no file of it yet.
      .where('state', '!=', 'writing')
      .compile(),
    db.deleteFrom('picture_files').where('owner_id', '=', jobId).compile(),
  ]
}

/** Rows that one statement of the sweep changes: few enough not to delay other queries. */
export const sweptRowsMax = 500

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
  const dueNow = sql`place in ${places} and expires_at <= ${now}`
  await sql`update picture_contents set state = 'removing'
    where ${dueNow} and ${lastEnd} is null`.execute(db)
  await sql`update picture_contents set ${inUse}
    where ${dueNow} and ${lastEnd} is not null`.execute(db)
  return due.length === sweptRowsMax
}

/** Contents in a state, oldest end first. */
export async function contentsIn(db: Db, state: Content['state']): Promise<Content[]> {
  const rows = db.selectFrom('picture_contents').selectAll().where('state', '=', state)
  return rows.orderBy('expires_at').limit(sweptRowsMax).execute()
}
