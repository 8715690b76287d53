import { hash } from 'node:crypto'
import { decodeBase64, decodedLength } from '../bytes/base64.ts'
import type { MemoryHold } from '../bytes/memory-budget.ts'
import { assertTaken, GatewayError } from '../core/error.ts'
import type { Picture } from '../core/image/image.ts'
import type { OpenedPicture, PictureFile, PictureFiles } from '../core/picture-files.ts'
import type { Encryption } from '../storage/encryption.ts'
import type { PicturePlace } from '../storage/picture-folder.ts'
import type { GuardedStore } from '../storage/store-guard.ts'
import type { PictureContentsTable } from '../storage/tables.ts'
import { newId } from './id.ts'
import type { createPictureLinks } from './picture-links.ts'
import { accountBytes, beginningContent, findFile, keepContent } from './picture-rows.ts'
import { sweepPictures } from './picture-sweep.ts'
import { createRoom } from './room.ts'
import { sweepAgain, takeTurn } from './sweep.ts'

type Options = {
  store: GuardedStore
  encryption: Encryption
  links: ReturnType<typeof createPictureLinks>
  /** Undefined if the processes have no folder in common and no bucket is set. */
  place: PicturePlace | undefined
  /** What a call does while `place` fails. */
  onFailure: 'refuse' | 'answer'
  /** The current limits. */
  limits: () => { pictureDays: number; accountPictureBytesMax: number }
  clock: () => number
  monotonic: () => number
  events: {
    /** Reports work on pictures; `error` is the reason if it failed. */
    worked(work: string, error?: unknown): void
  }
}

export type PictureFileStore = PictureFiles & {
  /** Removes expired pictures, and moves waiting ones to the bucket. Never rejects. */
  sweep(): Promise<void>
  close(): Promise<void>
}

const dayMs = 86_400_000
const sweepMs = 60_000
/** Longer than the contents of a job and its end take to write, each again while the store fails. */
const writingMaxMs = 3_600_000
/** The space of an account is computed again each time it has stored this share of it. */
const checkedShare = 1 / 64
/** What `encrypt` adds to the bytes. */
const sealBytes = 28
/** The base64 text or the ciphertext, the bytes, and a copy for the socket or file. */
const copies = 3

/** Pictures in a folder or a bucket, encrypted (docs/storage.md#pictures). */
export function createPictureFiles(options: Options): PictureFileStore {
  const { store, links, place, limits, clock, events } = options
  const { db } = store
  const report = (error?: unknown) => events.worked('picture_storage', error)
  const check = place && checkedRecently(place, options.monotonic)
  const room = createRoom({
    count: (accountId) => store.decide(() => accountBytes(db, accountId, clock())),
    limits: () => {
      const most = limits().accountPictureBytesMax
      return { most, step: most * checkedShare }
    },
    monotonic: options.monotonic,
    refusal: noRoom,
  })
  const sweep = async (): Promise<boolean> => {
    if (!(await takeTurn(db, 'picture_files', clock(), sweepMs))) return false
    await sweepPictures(options)
    return true
  }
  const { look, close } = sweepAgain(sweep, {
    intervalMs: sweepMs,
    onSwept: (error) => events.worked('picture_sweep', error),
  })
  const find = (accountId: string, id: string) =>
    store.decide(() => findFile(db, { id, accountId, now: clock() }))
  return {
    linkTo: links.linkTo,
    place: async (accountId) => {
      const isOff = limits().pictureDays === 0
      if (isOff || check === undefined || !options.encryption.canEncrypt())
        throw new GatewayError('unsupported_value', noPlace(isOff), { param: 'prefer' })
      await room.check(accountId)
      const failure = await check.now().catch((error: unknown) => error)
      report(failure)
      if (failure === undefined) return 'files'
      if (options.onFailure === 'answer') return 'inline'
      throw unavailable()
    },
    put: async (accountId, picture, memory) => {
      const bytes = decodedLength(picture.base64)
      room.use(accountId, bytes)
      // The picture is paid, so it is not refused for want of memory.
      memory.grow(copies * bytes)
      try {
        const { file, failure } = await put(options, accountId, picture)
        report(failure)
        if (failure !== undefined) check?.fails()
        return file
      } finally {
        memory.give(copies * bytes)
      }
    },
    follow: async (link) => {
      links.assertValid(link)
      const row = await find(link.account, link.fileId)
      if (row !== undefined) return opened(options, row)
      const text = 'The picture does not exist: it was deleted or has expired.'
      throw new GatewayError('not_found', text)
    },
    open: async ({ accountId, mode }, id) => {
      const row = await find(accountId, id)
      return row?.mode === mode ? opened(options, row) : undefined
    },
    sweep: look,
    close: async () => {
      close()
      await place?.close()
    },
  }
}

/** Stores a content, unless the account has it; `failure` is the reason if it waits in the store. */
async function put(
  { store, encryption, place: to, limits, clock }: Options,
  accountId: string,
  { base64, format }: Pick<Picture, 'base64' | 'format'>,
): Promise<{ file: PictureFile; failure?: unknown }> {
  const { db } = store
  const bytes = decodeBase64(base64)
  const now = clock()
  const file = {
    id: newId('file'),
    format,
    bytes: bytes.length,
    sha256: hash('sha256', bytes),
    expiresAtMs: now + Math.max(limits().pictureDays, 1) * dayMs,
    // Each content has a name of its own, so that nothing is written to one that is being removed.
    place: newId('').slice(1),
  }
  const { place } = file
  const same = { account_id: accountId, digest: file.sha256 }
  const { ciphertext, encryption_key_id } = encryption.encrypt(
    bytes,
    contextOf({ account_id: accountId, place }),
  )
  const content = { ...same, place, bytes: file.bytes, encryption_key_id }
  const times = { now, until: now + writingMaxMs }
  // The row comes first, so that the sweep finds the content if the process dies. Repeated only if another job
  // keeps a content with these bytes, or it expires, between the two statements.
  const begin = beginningContent(content, times).compile(db)
  while ((await store.decide(() => store.commit([begin])))[0] === 0) {
    const shared = await store.decide(() => keepContent(db, same, times))
    if (shared !== undefined) return { file: { ...file, place: shared } }
  }
  try {
    if (to === undefined) throw new Error('There is no place for pictures.')
    await to.write(place, ciphertext)
    return { file }
  } catch (failure) {
    const waiting = db.updateTable('picture_contents').set({ state: 'waiting' })
    const statements = [
      db.insertInto('waiting_pictures').values({ place, ciphertext }).compile(),
      waiting.where('place', '=', place).where('state', '=', 'writing').compile(),
    ]
    await store.decide(() => store.commit(statements, { isLarge: true }))
    return { file, failure }
  }
}

type Found = NonNullable<Awaited<ReturnType<typeof findFile>>>

function opened(options: Options, row: Found): OpenedPicture {
  const { id, format, bytes, digest: sha256, expires_at: expiresAtMs, place } = row
  return {
    file: { id, format, bytes, sha256, expiresAtMs, place },
    read: async (memory: MemoryHold) => {
      assertTaken(memory.take(copies * bytes))
      try {
        const ciphertext = await ciphertextOf(options, row)
        return ciphertext && options.encryption.decryptBytes({ ...row, ciphertext }, contextOf(row))
      } finally {
        memory.give((copies - 1) * bytes)
      }
    },
  }
}

/** Binds a ciphertext to its row. */
function contextOf({
  account_id: accountId,
  place,
}: Pick<PictureContentsTable, 'account_id' | 'place'>) {
  return `${accountId} picture ${place}`
}

async function ciphertextOf(
  { store, place }: Options,
  row: Found,
): Promise<Uint8Array | undefined> {
  let failure: unknown
  const content = await place?.read(row.place, row.bytes + sealBytes).catch((error: unknown) => {
    failure = error
  })
  if (content) return content
  const rows = store.db.selectFrom('waiting_pictures').selectAll().where('place', '=', row.place)
  const waiting = await store.decide(() => rows.executeTakeFirst())
  if (waiting === undefined && failure !== undefined) throw unavailable(failure)
  return waiting?.ciphertext
}

/** Asks the place at most every few seconds, one question at a time. */
function checkedRecently(place: PicturePlace, monotonic: () => number) {
  let last: { outcome: Promise<void>; until: number } | undefined
  return {
    now: async (): Promise<void> => {
      if (last === undefined || monotonic() >= last.until) {
        last = { outcome: place.check(), until: monotonic() + checkTrustedMs }
      }
      await last.outcome
    },
    fails: (): void => {
      last = undefined
    },
  }
}

const checkTrustedMs = 5000

function noPlace(isOff: boolean): string {
  const reason = isOff
    ? 'Its operator has set picture_days to 0'
    : 'Replicas with PostgreSQL need PICTURE_BUCKET and ENCRYPTION_KEY, which its operator has to set'
  return `This gateway stores no pictures of jobs. ${reason}. Send the request without 'respond-async'.`
}

function noRoom(bytes: number, bytesMax: number): GatewayError {
  return new GatewayError(
    'rate_limit_exceeded',
    `The stored pictures of this account have ${bytes} bytes, and ${bytesMax} are allowed. Delete jobs that you no longer need (DELETE /v1/images/jobs/{id}), or send the request without 'respond-async'.`,
    { param: 'prefer' },
  )
}

/** Without the place and the reason, which are the operator's: the log has them. */
function unavailable(cause?: unknown): GatewayError {
  const text = 'The pictures of jobs cannot be stored or read at the moment. Try again in a moment.'
  return new GatewayError('overloaded', text, { cause, retryAfterSeconds: 5 })
}
