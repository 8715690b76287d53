import {
  chmodSync,
  mkdirSync,
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
import fc from 'fast-check'
import { StoreError } from '../../src/storage/store-error.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { openTestStore } from '../support/store.ts'
import { usageRow } from '../support/usage-row.ts'

const rowsWritten = 12
const suffixes = ['', '-wal', '-shm']

describe('the files of a store', () => {
  let folder: TemporaryFolder
  /** The files as a process that was killed leaves them: most rows are in the log alone. */
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
  const change = (path: string, suffix: string, at: number) => {
    const bytes = readFileSync(fileIn(path, suffix))
    bytes[at]! ^= 0xff
    writeFileSync(fileIn(path, suffix), bytes)
  }
  const open = async (path: string) => {
    const notices: string[] = []
    const store = await openTestStore(path, 'normal', {}, notices)
    const rows = await store.db.selectFrom('usage').select('id').execute()
    await store.close()
    return { notices, rows: rows.length }
  }
  const copiesIn = (path: string) => readdirSync(path).filter((name) => name.startsWith('damaged-'))

  it('of a process that was killed are taken as they are', async () => {
    expect(await open(folder.path)).to.deep.equal({ notices: [], rows: rowsWritten })
    expect(copiesIn(folder.path)).to.deep.equal([])
  })

  it('with a log that ends in the middle of a commit are taken without it', async () => {
    truncateSync(fileIn(folder.path, '-wal'), left.get('-wal')!.length - 100)
    expect(await open(folder.path)).to.deep.equal({ notices: [], rows: rowsWritten - 1 })
  })

  it('are copied before what cannot be read of a log is dropped, which is told', async () => {
    change(folder.path, '-wal', 20)
    const { notices, rows } = await open(folder.path)
    expect(rows).to.equal(0)
    expect(notices).to.have.length(1)
    expect(notices[0]).to.match(
      /was not whole: the header of its log is damaged, so that up to \d+/,
    )
    const [copy] = copiesIn(folder.path)
    expect(notices[0]).to.contain(copy)
    expect(statSync(join(folder.path, copy!)).mode & 0o777).to.equal(0o700)
    for (const [suffix, bytes] of left) {
      const kept = readFileSync(fileIn(join(folder.path, copy!), suffix))
      expect(kept).to.have.length(bytes.length)
      if (suffix === '') expect(kept.equals(bytes)).to.equal(true)
    }
    expect((await open(folder.path)).notices).to.deep.equal([])
  })

  it('lose no more than the last commit in silence, wherever a byte of the log changes', async () => {
    const size = left.get('-wal')!.length
    const property = fc.asyncProperty(fc.nat(size - 1), async (at) => {
      const path = join(folder.path, `at_${at}`)
      mkdirSync(path, { mode: 0o700 })
      layOut(path)
      change(path, '-wal', at)
      const { notices, rows } = await open(path).catch((error: unknown) => {
        expect(error).to.be.instanceOf(StoreError)
        return { notices: ['refused'], rows: 0 }
      })
      if (rows < rowsWritten - 1) expect(notices).to.have.length(1)
      if (rows === rowsWritten) expect(notices).to.have.length(0)
      rmSync(path, { recursive: true })
    })
    await fc.assert(property, { numRuns: 12 })
  })

  it('are copied a few times alone', async () => {
    for (let copy = 0; copy < 5; copy++) {
      layOut(folder.path)
      change(folder.path, '-wal', 20)
      await open(folder.path)
    }
    expect(copiesIn(folder.path)).to.have.length(5)
    layOut(folder.path)
    change(folder.path, '-wal', 20)
    const refusal = await open(folder.path).catch((error: unknown) => error)
    expect(refusal).to.be.instanceOf(StoreError)
    expect((refusal as Error).message).to.contain('5 copies of damaged files are there already')
    expect(copiesIn(folder.path)).to.have.length(5)
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
      /it is damaged.*\. Put a copy in its place/,
    ],
    [
      'with a page that is overwritten',
      (path) => {
        whole(path)
        const bytes = readFileSync(fileIn(path))
        bytes.fill(0xab, 4096, 16_384)
        writeFileSync(fileIn(path), bytes)
      },
      /it is damaged/,
    ],
    [
      'that are empty beside a log',
      (path) => truncateSync(fileIn(path)),
      /it is empty\. Put a copy/,
    ],
    [
      'that are not there beside a log',
      (path) => rmSync(fileIn(path)),
      /it is not there, but its log is\. Put a copy/,
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
      /file is not a database\. Move it away/,
    ],
  ]
  for (const [what, damage, said] of refused) {
    it(`${what} are refused, and stay as they are`, async () => {
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

  it('are closed to others, which is told where they were open', async () => {
    chmodSync(folder.path, 0o755)
    chmodSync(fileIn(folder.path), 0o644)
    const { notices } = await open(folder.path)
    expect(notices).to.deep.equal([
      `${folder.path} was open to others; now its mode is 0700.`,
      `${fileIn(folder.path)} was open to others; now its mode is 0600.`,
    ])
    expect(statSync(folder.path).mode & 0o777).to.equal(0o700)
    expect(statSync(fileIn(folder.path)).mode & 0o777).to.equal(0o600)
  })

  it('are made so that nobody else can read them', async () => {
    const path = join(folder.path, 'a/new/folder')
    const notices: string[] = []
    const store = await openTestStore(path, 'normal', {}, notices)
    const modes = suffixes.map((suffix) => statSync(fileIn(path, suffix)).mode & 0o777)
    await store.close()
    expect(modes).to.deep.equal([0o600, 0o600, 0o600])
    expect(notices).to.deep.equal([])
  })
})
