import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import type { PictureFileStore } from '../../src/accounts/picture-files.ts'
import { pictureRemoval } from '../../src/accounts/picture-rows.ts'
import { uncounted } from '../../src/bytes/memory-budget.ts'
import type { GatewayError } from '../../src/core/error.ts'
import { createPictureFolder } from '../../src/storage/picture-folder.ts'
import type { GuardedStore } from '../../src/storage/store-guard.ts'
import { forEachStore } from '../support/each-store.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { bytesOf, openPictureFiles, pictureOf, putFile } from '../support/picture-files.ts'
import { openGuardedStore } from '../support/store.ts'

const dayMs = 86_400_000
const owner = { accountId: 'acc_1', mode: 'live', id: 'job_1' } as const

forEachStore('the pictures of an account', () => {
  let folder: TemporaryFolder
  let store: GuardedStore
  let files: PictureFileStore
  let now = Date.parse('2026-11-22T12:00:00Z')
  let isDown = false
  let limits: { pictureDays?: number; accountPictureBytesMax?: number } = {}
  const reports: [string, unknown?][] = []
  /** The folder as a bucket that can be down. */
  const placeIn = (dataDir: string) => {
    const place = createPictureFolder({ dataDir, durability: 'normal' })
    const unlessDown = <Args extends unknown[], T>(run: (...args: Args) => Promise<T>) => {
      return async (...args: Args) => {
        if (isDown) throw new Error('The bucket is gone.')
        return run(...args)
      }
    }
    const { check, write, read, remove } = place
    return {
      ...place,
      check: unlessDown(check),
      write: unlessDown(write),
      read: unlessDown(read),
      remove: unlessDown(remove),
    }
  }
  const openWith = (more: Partial<Parameters<typeof openPictureFiles>[0]> = {}) =>
    openPictureFiles({
      store,
      dataDir: folder.path,
      place: placeIn(folder.path),
      clock: () => now,
      monotonic: () => now,
      reports,
      limits,
      ...more,
    })
  beforeEach(async () => {
    folder = makeFolder()
    store = await openGuardedStore(folder.path)
    isDown = false
    limits = {}
    reports.length = 0
    files = await openWith()
  })
  afterEach(async () => {
    await files.close()
    await store.close()
    folder.remove()
  })

  const put = (text: string, more: { accountId?: string; id?: string } = {}) =>
    putFile({ files, store, clock: () => now }, { ...owner, ...more }, pictureOf(text))
  const read = async (
    id: string,
    account: { accountId: string; mode: 'live' | 'test' } = owner,
  ) => {
    const bytes = await (await files.open(account, id))?.read(uncounted)
    return bytes && String(bytes.subarray(pictureSize))
  }
  const pictureSize = bytesOf(pictureOf('')).length
  const contents = () => {
    const folders = join(folder.path, 'pictures')
    return readdirSync(folders).flatMap((one) => readdirSync(join(folders, one))).length
  }
  const rows = async (table: 'picture_contents' | 'picture_files' | 'waiting_pictures') =>
    (await store.db.selectFrom(table).select('place').execute()).length
  const sweepLater = async () => {
    now += 61_000
    await files.sweep()
  }
  const refusal = (accountId = 'acc_1') =>
    files.place(accountId).then(
      (where) => expect.fail(`not refused: ${where}`),
      (error: unknown) => error as GatewayError,
    )

  it('share equal bytes, but not with another account', async () => {
    const [one, two] = [await put('a'), await put('a', { id: 'job_2' })]
    const other = await put('a', { accountId: 'acc_2' })
    expect(one.sha256).to.equal(other.sha256)
    expect([await rows('picture_contents'), await rows('picture_files'), contents()]).to.deep.equal(
      [2, 3, 2],
    )
    expect(await read(two.id)).to.equal('a')
    expect(await read(other.id)).to.equal(undefined)
    expect(await read(one.id, { accountId: 'acc_1', mode: 'test' })).to.equal(undefined)
  })

  it('are encrypted, and damaged or cut contents are never served', async () => {
    const file = await put('a text that can be recognised')
    const path = () => {
      const pictures = join(folder.path, 'pictures')
      const [first] = readdirSync(pictures)
      return join(pictures, first!, readdirSync(join(pictures, first!))[0]!)
    }
    const content = readFileSync(path())
    expect(content.includes('recognised')).to.equal(false)
    for (const changed of [content.subarray(0, -1), content.subarray(0, 10), Buffer.alloc(0)]) {
      writeFileSync(path(), changed)
      expect(await read(file.id)).to.equal(undefined)
    }
    content[40]! ^= 1
    writeFileSync(path(), content)
    expect(await read(file.id)).to.equal(undefined)
    rmSync(path())
    expect(await read(file.id)).to.equal(undefined)
  })

  it('exist until they expire or their job is deleted, and are then removed', async () => {
    const [one, two] = [await put('a'), await put('a', { id: 'job_2' })]
    const three = await put('b', { id: 'job_2' })
    await store.commit(pictureRemoval(store.db, 'job_2'))
    expect(await Promise.all([one, two, three].map(({ id }) => read(id)))).to.deep.equal([
      'a',
      undefined,
      undefined,
    ])
    await sweepLater()
    expect([await rows('picture_contents'), contents()]).to.deep.equal([1, 1])
    expect(await read(one.id)).to.equal('a')
    now += 6 * dayMs
    // Equal bytes live on with a newer job.
    const four = await put('a', { id: 'job_3' })
    now += dayMs
    await sweepLater()
    expect([await read(one.id), await read(four.id)]).to.deep.equal([undefined, 'a'])
    now += 7 * dayMs
    await sweepLater()
    expect([await rows('picture_contents'), await rows('picture_files'), contents()]).to.deep.equal(
      [0, 0, 0],
    )
    expect(reports.filter(([, error]) => error !== undefined)).to.deep.equal([])
  })

  it('are not stored beyond the space of the account, before a provider is called', async () => {
    limits = { accountPictureBytesMax: 2 * pictureSize }
    files = await openWith()
    expect(await files.place('acc_1')).to.equal('files')
    await put('a')
    await put('b', { id: 'job_2' })
    const error = await refusal()
    expect(error).to.include({ code: 'rate_limit_exceeded', status: 429, param: 'prefer' })
    expect(error.message).to.match(/have \d+ bytes, and \d+ are allowed\. Delete jobs/)
    expect(await files.place('acc_2')).to.equal('files')
    await store.commit(pictureRemoval(store.db, 'job_2'))
    expect(await files.place('acc_1')).to.equal('files')
  })

  it('are refused without a place, a key or days', async () => {
    for (const [more, words] of [
      [{ place: undefined }, 'need PICTURE_BUCKET and ENCRYPTION_KEY'],
      [{ limits: { pictureDays: 0 } }, 'picture_days to 0'],
    ] as const) {
      files = await openWith(more)
      const error = await refusal()
      expect(error).to.include({ code: 'unsupported_value', status: 400, param: 'prefer' })
      expect(error.message).to.include(words)
    }
  })

  it('are refused or answered while their place fails, as the setting says', async () => {
    isDown = true
    const error = await refusal()
    expect(error).to.include({ code: 'overloaded', status: 503 })
    expect(error.message).to.not.include('bucket')
    files = await openWith({ onFailure: 'answer' })
    expect(await files.place('acc_1')).to.equal('inline')
    expect(reports.map(([work, reason]) => [work, String(reason)])).to.deep.equal(
      Array.from({ length: 2 }, () => ['picture_storage', 'Error: The bucket is gone.']),
    )
    isDown = false
    now += 5000
    expect(await files.place('acc_1')).to.equal('files')
  })

  it('that are paid wait in the store while their place fails, and are moved there', async () => {
    expect(await files.place('acc_1')).to.equal('files')
    isDown = true
    const file = await put('a')
    expect(await rows('waiting_pictures')).to.equal(1)
    expect(await read(file.id)).to.equal('a')
    // The failure ends the time for which the last check is trusted.
    expect((await refusal()).code).to.equal('overloaded')
    await sweepLater()
    expect(reports.at(-1)).to.deep.include('picture_sweep')
    expect(await read(file.id)).to.equal('a')
    isDown = false
    await sweepLater()
    expect([await rows('waiting_pictures'), contents()]).to.deep.equal([0, 1])
    expect(await read(file.id)).to.equal('a')
    isDown = true
    const other = await put('b', { id: 'job_2' })
    await store.commit(pictureRemoval(store.db, 'job_2'))
    expect(await read(other.id)).to.equal(undefined)
    isDown = false
    await sweepLater()
    expect([await rows('waiting_pictures'), await rows('picture_contents')]).to.deep.equal([0, 1])
  })

  it('leave nothing if a process dies while it writes', async () => {
    const content = { account_id: 'acc_1', digest: 'd', bytes: 5, encryption_key_id: 'k' }
    const place = '0123456789abcdef0123456789abcdef'
    const begun = { ...content, place, state: 'writing' as const, expires_at: now + 600_000 }
    await store.db.insertInto('picture_contents').values(begun).execute()
    mkdirSync(join(folder.path, 'pictures', '01'), { recursive: true })
    writeFileSync(join(folder.path, 'pictures', '01', place), 'half')
    await sweepLater()
    expect([await rows('picture_contents'), contents()]).to.deep.equal([1, 1])
    now += 600_000
    await files.sweep()
    expect([await rows('picture_contents'), contents()]).to.deep.equal([0, 0])
  })

  it('are swept by thousands in bounded time and memory', async function () {
    const count = 10_000
    const name = (at: number) => at.toString(16).padStart(32, '0')
    const shards = new Set(Array.from({ length: count }, (_, at) => name(at).slice(0, 2)))
    for (const shard of shards) mkdirSync(join(folder.path, 'pictures', shard), { recursive: true })
    for (let from = 0; from < count; from += 1000) {
      const batch = Array.from({ length: 1000 }, (_, at) => from + at)
      for (const at of batch)
        writeFileSync(join(folder.path, 'pictures', name(at).slice(0, 2), name(at)), 'x')
      const content = { account_id: 'acc_1', bytes: 1, encryption_key_id: 'k', expires_at: now }
      await store.commit(
        store.insertions(
          'picture_contents',
          batch.map((at) => ({
            ...content,
            place: name(at),
            digest: name(at),
            state: 'stored' as const,
          })),
        ),
      )
      const file = { account_id: 'acc_1', mode: 'live', owner_id: 'job_1', format: 'png' } as const
      await store.commit(
        store.insertions(
          'picture_files',
          batch.map((at) => ({
            ...file,
            id: `file_${at}`,
            place: name(at),
            created_at: 0,
            expires_at: now,
          })),
        ),
      )
    }
    const before = process.memoryUsage().rss
    const startedAt = performance.now()
    expect(await files.place('acc_1')).to.equal('files')
    await sweepLater()
    const tookMs = performance.now() - startedAt
    const grownMiB = (process.memoryUsage().rss - before) / 2 ** 20
    if (process.env['SHOW']) console.log({ tookMs, grownMiB })
    expect([await rows('picture_contents'), await rows('picture_files'), contents()]).to.deep.equal(
      [0, 0, 0],
    )
    expect(tookMs).to.be.below(50_000)
    expect(grownMiB).to.be.below(100)
  })
})
