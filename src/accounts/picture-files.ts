import { hash } from 'node:crypto'
import { decodeBase64, decodedLength } from '../bytes/base64.ts'
import type { MemoryHold } from '../bytes/memory-budget.ts'
import { assertTaken, GatewayError } from '../core/error.ts'
import type { OpenedPicture, PictureFile, PictureFiles } from '../core/picture-files.ts'
import type { Encryption } from '../storage/encryption.ts'
import type { PicturePlace } from '../storage/picture-folder.ts'
import type { GuardedStore } from '../storage/store-guard.ts'
import type { PictureContentsTable, PictureFilesTable } from '../storage/tables.ts'
import { newId } from './id.ts'
import type { createPictureLinks } from './picture-links.ts'
import { accountBytes, addFile, findContent, findFile } from './picture-rows.ts'
import { sweepPictures } from './picture-sweep.ts'
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
/** Longer than a content takes to write, with its timeouts. */
const writingMaxMs = 600_000
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
      const { accountPictureBytesMax: bytesMax } = limits()
      const bytes = await store.decide(() => accountBytes(db, accountId, clock()))
      if (bytes >= bytesMax) throw noRoom(bytes, bytesMax)
      const failure = await check.now().catch((error: unknown) => error)
      report(failure)
      if (failure === undefined) return 'files'
      if (options.onFailure === 'answer') return 'inline'
      throw unavailable()
    },
    put: async (owner, { base64, format }, memory) => {
      const bytes = decodedLength(base64)
      // The picture is paid, so it is not refused for want of memory.
      memory.grow(copies * bytes)
      try {
        const { file, failure } = await put(options, owner, { base64, format })
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

type Put = Parameters<PictureFiles['put']>

/** Stores a picture; `failure` is the reason if it waits in the store. */
async function put(
  options: Options,
  { accountId, mode, ownerId }: Put[0],
  { base64, format }: Put[1],
): Promise<{ file: PictureFile; failure?: unknown }> {
  const { store, limits, clock } = options
  const content = decodeBase64(base64)
  const createdAt = clock()
  const file = {
    id: newId('file'),
    format,
    bytes: content.length,
    sha256: hash('sha256', content),
    expiresAtMs: createdAt + Math.max(limits().pictureDays, 1) * dayMs,
  }
  const row = {
    id: file.id,
    account_id: accountId,
    mode,
    owner_id: ownerId,
    format,
    created_at: createdAt,
    expires_at: file.expiresAtMs,
  }
  const own = { account_id: accountId, digest: file.sha256 }
  const shared = await store.decide(() => findContent(store.db, own, createdAt))
  if (shared !== undefined) {
    const isAdded = await store.decide(() => addFile(store.db, { ...row, place: shared }))
    if (isAdded) return { file }
  }
  return { file, failure: await written(options, { content, digest: file.sha256, row }) }
}

type Found = NonNullable<Awaited<ReturnType<typeof findFile>>>

function opened(options: Options, row: Found): OpenedPicture {
  const { id, format, bytes, digest: sha256, expires_at: expiresAtMs } = row
  return {
    file: { id, format, bytes, sha256, expiresAtMs },
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
  const waiting = () => store.db.selectFrom('waiting_pictures').where('place', '=', row.place)
  try {
    const content = await place?.read(row.place, row.bytes + sealBytes)
    if (content !== undefined) return content
  } catch (error) {
    const found = await store.decide(() => waiting().selectAll().executeTakeFirst())
    if (found !== undefined) return found.ciphertext
    throw unavailable(error)
  }
  return (await store.decide(() => waiting().selectAll().executeTakeFirst()))?.ciphertext
}

type Writing = {
  content: Buffer
  digest: string
  row: Omit<PictureFilesTable, 'place'>
}

/** Writes a new content with its first file; resolves with the failure if it waits in the store. */
async function written(options: Options, { content, digest, row }: Writing): Promise<unknown> {
  const { store, encryption, place: to, clock } = options
  const { db } = store
  // Each content has a name of its own, so that nothing is written to one that is being removed.
  const place = newId('').slice(1)
  const { account_id } = row
  const { ciphertext, ...sealed } = encryption.encrypt(content, contextOf({ account_id, place }))
  const begun = { place, account_id, digest, bytes: content.length, state: 'writing' as const }
  const expires_at = clock() + writingMaxMs
  const begin = db.insertInto('picture_contents').values({ ...begun, ...sealed, expires_at })
  // The row comes first, so that the sweep finds the content if the process dies.
  await store.decide(() => begin.execute())
  let failure: unknown = to === undefined ? new Error('There is no place for pictures.') : undefined
  try {
    await to?.write(place, ciphertext)
  } catch (error) {
    failure = error
  }
  if (failure !== undefined)
    await store.decide(() =>
      db.insertInto('waiting_pictures').values({ place, ciphertext }).execute(),
    )
  const state = failure === undefined ? 'stored' : 'waiting'
  const isKept = await store.decide(() => addFile(db, { ...row, place }, { state }))
  if (!isKept) throw unavailable(new Error('A picture was written for longer than allowed.'))
  return failure
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
