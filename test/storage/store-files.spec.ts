import {
  chmodSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import { StoreError } from '../../src/storage/store-error.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { startGateway } from '../support/gateway.ts'
import { openTestStore } from '../support/store.ts'
import { until } from '../support/until.ts'
import { usageRow } from '../support/usage-row.ts'

const rowsWritten = 12
const suffixes = ['', '-wal', '-shm']

describe('the files of a store', () => {
  let folder: TemporaryFolder
  /** Files that a killed process left. Most rows are only in the write-ahead log. */
  const left = new Map<string, Buffer>()
  before(async () => {
    const first = makeFolder()
    const store = await openTestStore(first.path)
    for (let at = 0; at < rowsWritten; at++) {
      await store.commit(store.insertions('usage', [usageRow(`row_${at}`, at)]))
    }
    for (const suffix of suffixes) {
      left.set(suffix, readFileSync(join(first.path, `gateway.db${suffix}`)))
    }
    await store.close()
    first.remove()
  })
  beforeEach(() => {
    folder = makeFolder()
    layOut(folder.path)
  })
  afterEach(() => folder.remove())

  const fileIn = (path: string, suffix = '') => join(path, `gateway.db${suffix}`)
  const layOut = (path: string) => {
    for (const [suffix, bytes] of left) writeFileSync(fileIn(path, suffix), bytes, { mode: 0o600 })
  }
  const open = async (path: string) => {
    const notices: string[] = []
    const store = await openTestStore(path, 'normal', {}, notices)
    const rows = await store.db.selectFrom('usage').select('id').execute()
    await store.close()
    return { notices, rows: rows.length }
  }

  it('of a killed process are opened with all their rows', async () => {
    expect(await open(folder.path)).to.deep.equal({ notices: [], rows: rowsWritten })
  })

  it('with a log that ends within a commit are opened without that commit', async () => {
    truncateSync(fileIn(folder.path, '-wal'), left.get('-wal')!.length - 100)
    expect(await open(folder.path)).to.deep.equal({ notices: [], rows: rowsWritten - 1 })
  })

  const other = (sql: string) => (path: string) => {
    rmSync(fileIn(path, '-wal'))
    rmSync(fileIn(path))
    const database = new DatabaseSync(fileIn(path))
    database.exec(sql)
    database.close()
  }
  const whole = (path: string) => {
    const database = new DatabaseSync(fileIn(path))
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    database.close()
  }
  const refused: [what: string, change: (path: string) => void, said: RegExp][] = [
    [
      'that are cut off',
      (path) => {
        whole(path)
        truncateSync(fileIn(path), 8192)
      },
      /it is damaged.*\. Restore a backup/,
    ],
    [
      'that are empty beside a log',
      (path) => truncateSync(fileIn(path)),
      /it is empty\. Restore a backup/,
    ],
    [
      'that are not there beside a log',
      (path) => rmSync(fileIn(path)),
      /it is missing, but its log exists\. Restore a backup/,
    ],
    [
      'of another program',
      other('CREATE TABLE cookies (name text)'),
      /it is the file of another program\. Move it away/,
    ],
    [
      'with the mark of another program',
      other('PRAGMA application_id = 7'),
      /it is the file of another program/,
    ],
    [
      'that are none',
      (path) => {
        whole(path)
        writeFileSync(fileIn(path), 'these are not the bytes of a database at all')
      },
      /it is not a database\. Move it away/,
    ],
  ]
  for (const [what, damage, said] of refused) {
    it(`${what} are refused and not changed`, async () => {
      damage(folder.path)
      const files = () =>
        readdirSync(folder.path)
          .filter((name) => !name.endsWith('-shm') && statSync(join(folder.path, name)).size > 0)
          .map((name) => [name, readFileSync(join(folder.path, name)).toString('base64')])
      const before = files()
      const refusal = await open(folder.path).catch((error: unknown) => error)
      expect(refusal).to.be.instanceOf(StoreError)
      expect((refusal as Error).message).to.match(said)
      expect(files()).to.deep.equal(before)
    })
  }

  /** Damages the store: overwrites the page of a table that neither a start nor a call reads. */
  const damage = (path: string) => {
    const database = new DatabaseSync(fileIn(path))
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    const row = database
      .prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'invitations'")
      .get()
    database.close()
    const begin = (Number(row!['rootpage']) - 1) * 4096
    const bytes = readFileSync(fileIn(path))
    writeFileSync(fileIn(path), bytes.fill(0xab, begin, begin + 4096))
  }
  const failureOf = (work: Promise<unknown>) =>
    work.then(
      () => undefined,
      (error: StoreError) => error.diagnosis,
    )

  it('with a damaged page are reported by the check, in each process, until they are restored', async () => {
    damage(folder.path)
    const [store, other] = [await openTestStore(folder.path), await openTestStore(folder.path)]
    await store.look()
    await store.check()
    for (const each of [store, other]) {
      const damage = await failureOf(each.look())
      expect(damage?.reason).to.match(/^The store is damaged \(.*; copied to .*\)$/)
      expect(damage?.remedy).to.contain('restore a backup')
    }
    await store.check()
    const copies = readdirSync(folder.path).filter((name) => name.startsWith('damaged-'))
    expect(copies).to.have.length(1)
    const copy = join(folder.path, copies[0]!)
    expect(statSync(copy).mode & 0o777).to.equal(0o700)
    expect(readFileSync(fileIn(copy)).equals(readFileSync(fileIn(folder.path)))).to.equal(true)
    await Promise.all([store.close(), other.close()])
    for (const suffix of ['-wal', '-shm']) rmSync(fileIn(folder.path, suffix), { force: true })
    layOut(folder.path)
    const restored = await openTestStore(folder.path)
    expect(await failureOf(restored.look())).to.not.equal(undefined)
    await restored.check()
    await restored.look()
    await restored.close()
  })

  it('that are new are intact, although an earlier store left the mark of its damage', async () => {
    const fresh = makeFolder()
    writeFileSync(fileIn(fresh.path, '-damaged'), 'a row is missing')
    const store = await openTestStore(fresh.path)
    const before = await failureOf(store.look())
    await store.check()
    const after = await failureOf(store.look())
    await store.close()
    fresh.remove()
    expect(before?.reason).to.contain('a row is missing')
    expect(after).to.equal(undefined)
  })

  it('are checked after the port has opened; calls on a damaged store are refused', async () => {
    damage(folder.path)
    const gateway = await startGateway({ beside: { dataDir: folder.path } })
    try {
      await until('not ready', async () => (await gateway.fetch('/ready')).status === 503)
      const call = { model: 'auto', messages: [{ role: 'user', content: 'hello' }] }
      const refused = await gateway.post('/v1/chat/completions', call)
      expect(refused.status).to.equal(503)
      expect(refused.headers.get('retry-after')).to.not.equal(null)
      expect(gateway.logText()).to.match(/"reason":"The store is damaged \(/)
    } finally {
      await gateway.stop()
    }
  })

  it('get private modes, with a notice if they were open to others', async () => {
    chmodSync(folder.path, 0o755)
    chmodSync(fileIn(folder.path), 0o644)
    const { notices } = await open(folder.path)
    expect(notices).to.deep.equal([
      `${folder.path} was open to other users; its mode is now 0700.`,
      `${fileIn(folder.path)} was open to other users; its mode is now 0600.`,
    ])
    expect(statSync(folder.path).mode & 0o777).to.equal(0o700)
    expect(statSync(fileIn(folder.path)).mode & 0o777).to.equal(0o600)
  })

  it('are created with private modes', async () => {
    const path = join(folder.path, 'a/new/folder')
    const notices: string[] = []
    const store = await openTestStore(path, 'normal', {}, notices)
    const modes = suffixes.map((suffix) => statSync(fileIn(path, suffix)).mode & 0o777)
    await store.close()
    expect(modes).to.deep.equal([0o600, 0o600, 0o600])
    expect(notices).to.deep.equal([])
  })
})
