import { sql } from 'kysely'
import type { PicturePlace } from '../storage/picture-folder.ts'
import { listed } from '../storage/sql-dialect.ts'
import type { Store } from '../storage/store.ts'
import { contentsIn, markUnused, sweptRowsMax } from './picture-rows.ts'
import { removeRows } from './sweep.ts'

type Options = {
  store: Pick<Store, 'db' | 'commit'>
  place: PicturePlace | undefined
  clock: () => number
  monotonic: () => number
}

/** A sweep that takes longer goes on with the next one, a minute after its start. */
const durationMaxMs = 50_000
/** Removals at a time: a bucket answers each within some ten milliseconds. */
const removalsConcurrent = 8

const dayMs = 86_400_000

/**
 * Removes jobs and files that have expired, and contents without files; moves waiting contents to their place. If it throws, the
 * next sweep goes on.
 */
export async function sweepPictures({ store, place, clock, monotonic }: Options): Promise<void> {
  const { db } = store
  const now = clock()
  const until = monotonic() + durationMaxMs
  const hasTime = () => monotonic() < until
  // The lease of a process that lives is renewed every few seconds.
  await db
    .deleteFrom('process_leases')
    .where('renewed_at', '<', now - dayMs)
    .execute()
  const expired = sql`expires_at <= ${now}`
  // Running jobs expire after their end, so that a clock that jumps ahead ends none.
  await removeRows(db, 'image_jobs', sql`${expired} and owner is null`, hasTime)
  await removeRows(db, 'picture_files', expired, hasTime)
  while ((await markUnused(db, now)) && hasTime());
  if (place === undefined) return
  while ((await removeMarked(store, place)) && hasTime());
  const waiting = await contentsIn(db, 'waiting')
  for (const { place: name } of waiting) if (hasTime()) await move(store, place, name)
}

/** Removes contents that are marked as being removed; whether there may be more. */
async function removeMarked(store: Options['store'], place: PicturePlace): Promise<boolean> {
  const marked = (await contentsIn(store.db, 'removing')).map((content) => content.place)
  const left = marked.values()
  const removed: string[] = []
  const remove = async () => {
    for (const name of left) {
      await place.remove(name)
      removed.push(name)
    }
  }
  const outcomes = await Promise.allSettled(Array.from({ length: removalsConcurrent }, remove))
  const names = listed(store.db, removed)
  const rows = store.db.deleteFrom('picture_contents').where('place', 'in', names)
  await store.commit([
    rows.where('state', '=', 'removing').compile(),
    store.db.deleteFrom('waiting_pictures').where('place', 'in', names).compile(),
  ])
  const failed = outcomes.find(({ status }) => status === 'rejected')
  if (failed?.status === 'rejected') throw failed.reason
  return marked.length === sweptRowsMax
}

/** Moves a content from the store to its place. */
async function move({ db, commit }: Options['store'], place: PicturePlace, name: string) {
  const rows = db.selectFrom('waiting_pictures').selectAll().where('place', '=', name)
  const content = await rows.executeTakeFirst()
  if (content === undefined) return
  await place.write(name, content.ciphertext)
  const [moved] = await commit([
    db
      .updateTable('picture_contents')
      .set({ state: 'stored' })
      .where('place', '=', name)
      .where('state', '=', 'waiting')
      .compile(),
    db.deleteFrom('waiting_pictures').where('place', '=', name).compile(),
  ])
  // It was deleted meanwhile, and its place may have been removed before the write.
  if (moved === 0) await place.remove(name)
}
