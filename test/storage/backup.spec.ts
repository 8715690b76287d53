import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import { backUp, restore } from '../../src/storage/copies/backup.ts'
import { openJournal } from '../../src/storage/journal.ts'
import { StoreError } from '../../src/storage/store-error.ts'
import { storePath } from '../../src/storage/store.ts'
import { accountRow } from '../support/callers.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { openTestStore } from '../support/store.ts'
import { mountSmallDisk } from '../support/small-disk.ts'
import { usageRow } from '../support/usage-row.ts'

describe('a backup', () => {
  let folder: TemporaryFolder
  let dataDir: string
  let file: string
  beforeEach(() => {
    folder = makeFolder()
    dataDir = join(folder.path, 'data')
    file = join(folder.path, 'backup.db')
  })
  afterEach(() => folder.remove())

  const cost = 1_000_000_007
  const rowOf = (id: string, at = 1) => ({ ...usageRow(id, at), mode: 'live', cost_nano_usd: cost })
  const fill = async (ids: readonly string[]) => {
    const store = await openTestStore(dataDir)
    await store.db.insertInto('accounts').values(accountRow('acc_1')).execute()
    await store.commit(store.insertions('usage', ids.map(rowOf)))
    return store
  }
  const idsIn = (path: string) => {
    const database = new DatabaseSync(path, { readOnly: true })
    const rows = database.prepare('SELECT id FROM usage ORDER BY id').all()
    database.close()
    return rows.map(({ id }) => id)
  }
  const make = (replaces = false) => backUp({ dataDir, file, replaces })
  const refusal = async (attempt: Promise<unknown>) => {
    const error = await attempt.then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    expect(error).to.be.instanceOf(StoreError)
    expect((error as StoreError).errcode).to.equal(undefined)
    return (error as StoreError).message
  }

  it('contains the rows of an open store, in one file of mode 0600', async () => {
    const store = await fill(['a', 'b'])
    const made = await make()
    await store.close()
    expect(made).to.deep.include({ file, accounts: 1, keys: 0, calls: 2, newestCallAt: 1 })
    expect(made.costNanoUsd).to.equal(String(2 * cost))
    expect(idsIn(file)).to.deep.equal(['a', 'b'])
    expect(statSync(file).mode & 0o777).to.equal(0o600)
    expect(readdirSync(folder.path)).to.deep.equal(['backup.db', 'data'])
  })

  it('contains rows of journals once, and counts refused rows', async () => {
    const store = await fill(['a'])
    const journal = await openJournal({ folder: dataDir, bytesMax: 65_536, flushes: false })
    const misfit = { ...rowOf('d', 9), outcome: null }
    const kept = [rowOf('a', 0), rowOf('c', 5), misfit].map((row) => ['usage', row])
    expect(await journal.append(kept)).to.equal(true)
    const made = await make()
    expect(made).to.deep.include({ calls: 2, journaledRows: 1, refusedRows: 1, newestCallAt: 5 })
    expect(made.costNanoUsd).to.equal(String(2 * cost))
    expect(idsIn(file)).to.deep.equal(['a', 'c'])
    await journal.close()
    await store.close()
  })

  it('replaces a file only if asked, and never a file of the store', async () => {
    const store = await fill(['a'])
    writeFileSync(file, 'mine')
    expect(await refusal(make())).to.include('already exists. Name another file, or add --force.')
    expect(readFileSync(file, 'utf8')).to.equal('mine')
    await make(true)
    expect(idsIn(file)).to.deep.equal(['a'])
    for (const [path, words] of [
      [storePath(dataDir), "would be one of the store's own files"],
      [dataDir, 'is a folder'],
      [join(folder.path, 'none', 'b.db'), 'does not exist. Create it first'],
    ] as const)
      expect(await refusal(backUp({ dataDir, file: path, replaces: true }))).to.include(words)
    await store.close()
    expect(await refusal(backUp({ dataDir: folder.path, file, replaces: true }))).to.include(
      'does not exist. Set DATA_DIR',
    )
  })

  it('leaves no file on a full disk, and removes files of killed processes', async function () {
    const disk = join(folder.path, 'disk')
    mkdirSync(disk)
    const unmount = mountSmallDisk(disk)
    if (unmount === undefined) return this.skip()
    try {
      const store = await fill(Array.from({ length: 6000 }, (_, index) => `row ${index}`))
      const there = join(disk, 'backup.db')
      const { pid: ended } = spawnSync('true')
      writeFileSync(`${there}.part-${ended}`, 'x')
      expect(await refusal(backUp({ dataDir, file: there, replaces: false }))).to.include(
        'the disk is full. Check that its disk has free space',
      )
      expect(readdirSync(disk)).to.deep.equal([])
      await store.close()
    } finally {
      unmount()
    }
  })

  it('is restored unchanged; the previous store is kept with its journals', async () => {
    let store = await fill(['a', 'b'])
    await make()
    const after = rowOf('c', 9)
    await store.commit(store.insertions('usage', [after]))
    expect(await refusal(restore({ dataDir, file }))).to.include('has its store open')
    await store.close()
    const journal = join(dataDir, 'gateway.journal-elsewhere-7')
    writeFileSync(journal, '')
    const { replaced, ...restored } = await restore({ dataDir, file })
    expect(restored).to.deep.include({ file, accounts: 1, calls: 2, newestCallAt: 1 })
    expect(idsIn(storePath(dataDir))).to.deep.equal(['a', 'b'])
    expect(readdirSync(replaced!)).to.deep.equal(['gateway.db', 'gateway.journal-elsewhere-7'])
    expect(idsIn(storePath(replaced!))).to.deep.equal(['a', 'b', 'c'])
    expect(readdirSync(dataDir).filter((name) => !name.startsWith('replaced-'))).to.deep.equal([
      'gateway.db',
      'gateway.lock',
    ])
    store = await openTestStore(dataDir)
    await store.commit(store.insertions('usage', [after]))
    await store.close()
    expect(idsIn(storePath(dataDir))).to.deep.equal(['a', 'b', 'c'])
  })

  it('is restored into an empty folder, and over a damaged store with its log', async () => {
    await (await fill(['a'])).close()
    await make()
    const other = join(folder.path, 'other')
    expect((await restore({ dataDir: other, file })).replaced).to.equal(null)
    expect(idsIn(storePath(other))).to.deep.equal(['a'])
    writeFileSync(storePath(other), 'no database')
    writeFileSync(`${storePath(other)}-wal`, 'no log')
    const { replaced } = await restore({ dataDir: other, file })
    expect(readdirSync(replaced!)).to.deep.equal(['gateway.db', 'gateway.db-wal'])
    expect(readFileSync(storePath(replaced!), 'utf8')).to.equal('no database')
    await (await openTestStore(other)).close()
    expect(idsIn(storePath(other))).to.deep.equal(['a'])
  })

  describe('that cannot be', () => {
    const change = (sql: string) => () => {
      const database = new DatabaseSync(file)
      database.exec(sql)
      database.close()
    }
    const cases: Record<string, [spoil: () => void, words: string]> = {
      'is not there': [() => (file = join(folder.path, 'none.db')), 'it does not exist'],
      'is a folder': [() => (file = folder.path), 'it is a folder'],
      'is empty': [() => writeFileSync(file, ''), 'it is empty'],
      'is a text': [() => writeFileSync(file, 'hello'), 'it is not a database'],
      'is cut off': [() => writeFileSync(file, readFileSync(file).subarray(0, 9000)), 'damaged'],
      'has a torn page': [
        () => writeFileSync(file, Buffer.from(readFileSync(file)).fill(7, 4096, 4200)),
        'damaged',
      ],
      'has another cost': [
        change('UPDATE usage SET cost_nano_usd = 1'),
        'its hourly sums do not match',
      ],
      'has other sums of days': [
        change(`INSERT INTO usage_sums SELECT account_id, mode, 'day_all', hour_at, key_id, model, provider,
          face, modality, outcome, 1${', 0'.repeat(15)} FROM usage_hours LIMIT 1`),
        'its sums of days and months do not match',
      ],
      'refers to a missing row': [
        change(`PRAGMA foreign_keys = 0;
          INSERT INTO members (account_id, person_id, role, joined_at) VALUES ('x', 'y', 'owner', 1)`),
        'refer to rows that are missing',
      ],
      'is of another program': [change('PRAGMA application_id = 7'), 'the file of another program'],
      'is newer': [
        change(`INSERT INTO kysely_migration VALUES ('9999_later', '2030')`),
        'was written by a newer version of the gateway. Update the gateway.',
      ],
      'is from before version 0.1': [
        change(`DELETE FROM kysely_migration;
          INSERT INTO kysely_migration VALUES ('0028_running_responses', '2026')`),
        'is from before version 0.1. Export it with the version that made it',
      ],
    }
    for (const [name, [spoil, words]] of Object.entries(cases)) {
      it(`restored, since it ${name}, changes nothing`, async () => {
        await (await fill(['a'])).close()
        await make()
        spoil()
        expect(await refusal(restore({ dataDir, file }))).to.include(words)
        expect(idsIn(storePath(dataDir))).to.deep.equal(['a'])
        expect(existsSync(join(dataDir, 'gateway.restored'))).to.equal(false)
      })
    }
  })
})
