import { readdirSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import { sql } from 'kysely'
import { GatewayError } from '../../src/core/error.ts'
import type { GuardedStore } from '../../src/storage/store-guard.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { readLedger } from '../support/ledger-file.ts'
import { openGuardedStore } from '../support/store.ts'
import { until } from '../support/until.ts'
import { usageRow } from '../support/usage-row.ts'

/** Intervals and timeouts are short, so that no test waits. */
const quick = { storeBusyTimeoutMs: 20, storeCheckIntervalMs: 20, ledgerRetryMaxMs: 60 }

describe('a store in trouble', () => {
  let folder: TemporaryFolder
  let store: GuardedStore
  /** A second connection, which may lock the store. */
  let other: DatabaseSync | undefined
  const notices: string[] = []
  const open = async (limits: Partial<typeof quick> & { ledgerJournalBytesMax?: number } = {}) => {
    store = await openGuardedStore(folder.path, { limits: { ...quick, ...limits }, notices })
    other = new DatabaseSync(join(folder.path, 'gateway.db'))
  }
  beforeEach(() => {
    folder = makeFolder()
    notices.length = 0
  })
  afterEach(async () => {
    if (other?.isOpen) other.close()
    await store.close().catch(() => undefined)
    folder.remove()
  })

  const hold = () => other!.exec('BEGIN IMMEDIATE')
  const free = () => other!.exec('ROLLBACK')
  const keep = (...ids: string[]) =>
    store.insert(
      'usage',
      ids.map((id) => usageRow(id, 1)),
    )
  const ids = () => readLedger(folder.path).rows.map(({ id }) => id)
  const troubled = () => {
    try {
      store.assertWritable()
      return false
    } catch (error) {
      expect(error).to.be.instanceOf(GatewayError)
      expect(error).to.include({ code: 'overloaded', status: 503, retryAfterSeconds: 5 })
      return true
    }
  }

  it('keeps rows in its journal while another program locks it, and inserts each once afterwards', async () => {
    await open()
    await keep('a')
    hold()
    await Promise.all([keep('b'), keep('c', 'd')])
    expect(troubled()).to.equal(true)
    expect(ids()).to.deep.equal(['a'])
    expect([store.isUp(), store.journalRows()]).to.deep.equal([false, 3])
    free()
    await until('the store accepts rows again', () => !troubled())
    expect([store.isUp(), store.journalRows()]).to.deep.equal([true, 0])
    await keep('e')
    expect(ids().sort()).to.deep.equal(['a', 'b', 'c', 'd', 'e'])
    expect(notices).to.deep.equal(['another program has locked it', 'recovered 3'])
  })

  it('inserts the rows of the journal at the next start, each once', async () => {
    await open()
    hold()
    await keep('a', 'b')
    await store.close()
    free()
    // Simulates a commit that succeeded although it seemed to fail.
    const { id, ...rest } = usageRow('a', 1)
    const names = Object.keys(rest)
    other!
      .prepare(
        `INSERT INTO usage (id, ${names.join(', ')}) VALUES (?${', ?'.repeat(names.length)})`,
      )
      .run(id, ...Object.values(rest))
    await open()
    expect(ids().sort()).to.deep.equal(['a', 'b'])
    expect(notices).to.deep.equal(['another program has locked it', 'recovered 2'])
  })

  it('takes over the journals of ended processes one by one, and none of running ones', async () => {
    const journal = () => readdirSync(folder.path).find((name) => name.includes('journal'))!
    const left = [`${hostname()}-999999991`, `${hostname()}-999999992`, 'elsewhere-7']
    const used = [`${hostname()}-${process.ppid}`, 'elsewhere-8']
    const at = (owner: string) => join(folder.path, `gateway.journal-${owner}`)
    const all = [...left, ...used]
    for (const owner of all) {
      await open()
      hold()
      await keep(`row of ${owner}`)
      await store.close()
      free()
      other!.close()
      // Renames the journal, because the next start would otherwise take it over.
      renameSync(join(folder.path, journal()), join(folder.path, owner))
    }
    for (const owner of all) renameSync(join(folder.path, owner), at(owner))
    const old = new Date(Date.now() - 61_000)
    utimesSync(at('elsewhere-7'), old, old)
    notices.length = 0
    await open()
    await until('all journal rows are inserted', () => ids().length === 3)
    await until('all are recovered', () => notices.length === 3)
    expect(ids()).to.have.members(left.map((owner) => `row of ${owner}`))
    expect(notices).to.deep.equal(Array(3).fill('recovered 1'))
    const there = readdirSync(folder.path).filter((name) => name.includes('journal'))
    expect(there.map((name) => join(folder.path, name)))
      .to.include.members(used.map(at))
      .and.to.have.length(3)
    // The process's own journal is still in use, and is replayed as usual.
    hold()
    await keep('f')
    free()
    await until('the store accepts rows again', () => !troubled())
    expect(ids()).to.have.length(4)
  })

  it('rejects a row after retries if store and journal both fail', async () => {
    // Long enough for the second row, whose retries last until the next check of the store.
    await open({ ledgerJournalBytesMax: 0, ledgerRetryMaxMs: 1000 })
    hold()
    const refusal = await keep('a').catch((error: unknown) => error)
    expect(refusal).to.include({ code: 'overloaded', status: 503 })
    const later = keep('b')
    free()
    await later
    expect(ids()).to.deep.equal(['b'])
  })

  it('does not write more to its journal than fits', async () => {
    await open({ ledgerJournalBytesMax: 2000 })
    hold()
    await keep('a')
    const many = Array.from({ length: 20 }, (_, index) => `many_${index}`)
    expect(await keep(...many).catch((error: unknown) => error)).to.be.instanceOf(GatewayError)
    await keep('b')
    free()
    await until('the store accepts rows again', () => !troubled())
    expect(ids().sort()).to.deep.equal(['a', 'b'])
  })

  for (const suffix of ['', '-wal', '-shm']) {
    it(`notices that gateway.db${suffix} was moved away, and continues when it is back`, async () => {
      await open()
      const path = join(folder.path, `gateway.db${suffix}`)
      renameSync(path, `${path}.away`)
      await until('the trouble is noticed', troubled)
      await keep('a')
      renameSync(`${path}.away`, path)
      await until('the store accepts rows again', () => !troubled())
      expect(ids()).to.deep.equal(['a'])
      expect(notices[0]).to.contain(`gateway.db${suffix} was moved, deleted or replaced`)
    })

    it(`notices that gateway.db${suffix} was replaced by another file`, async () => {
      await open()
      const path = join(folder.path, `gateway.db${suffix}`)
      rmSync(path)
      writeFileSync(path, '')
      await until('the trouble is noticed', troubled)
      const refusal = await store.checkWritable().catch((error: unknown) => error)
      expect(refusal).to.be.instanceOf(GatewayError)
    })
  }

  it('keeps no row in a journal that was removed', async () => {
    await open()
    const away = `${folder.path}.away`
    renameSync(folder.path, away)
    await until('the trouble is noticed', troubled)
    const refusal = await keep('a').catch((error: unknown) => error)
    expect(refusal).to.include({ code: 'overloaded', status: 503 })
    renameSync(away, folder.path)
    await until('the store accepts rows again', () => !troubled())
    await keep('b')
    expect(ids()).to.deep.equal(['b'])
  })

  it('creates its journal again after it was deleted', async () => {
    await open()
    const journals = () => readdirSync(folder.path).filter((name) => name.includes('journal'))
    expect(journals()).to.have.length(1)
    rmSync(join(folder.path, journals()[0]!))
    await until('the journal exists again', () => journals().length === 1)
    hold()
    await keep('a')
    free()
    await until('the store accepts rows again', () => !troubled())
    expect(ids()).to.deep.equal(['a'])
    await store.close()
    expect(journals()).to.deep.equal([])
  })

  for (const durability of ['normal', 'full'] as const) {
    it(`continues with a new thread, with durability ${durability}`, async () => {
      const limits = { ...quick, storeAnswerTimeoutMs: 600 }
      store = await openGuardedStore(folder.path, { limits, notices, durability })
      const slow = sql`
        WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 12000000)
        SELECT count(*) FROM n`
      const ended = await slow.execute(store.db).catch((error: unknown) => String(error))
      expect(ended).to.contain('its thread does not answer')
      const works = async () => {
        const asked = store.db.selectFrom('accounts').select('id').execute()
        return asked.then(
          () => !troubled(),
          () => false,
        )
      }
      await until('the thread answers', works)
      await keep('a')
      // Waits for several of the periodic checks of the files.
      for (let look = 0; look < 5; look++) await sleep(quick.storeCheckIntervalMs)
      expect(troubled()).to.equal(false)
      expect(ids()).to.deep.equal(['a'])
    })
  }

  it('is ready as long as a row can be written', async () => {
    await open({ storeCheckIntervalMs: 60_000 })
    await store.checkWritable()
    other!.exec('ALTER TABLE write_checks RENAME TO gone; CREATE TABLE write_checks (id)')
    // The check succeeds, because its last result is valid for a second.
    await store.checkWritable()
    await until('the trouble is noticed', async () => {
      const refusal = await store.checkWritable().catch((error: unknown) => error)
      return refusal instanceof GatewayError
    })
    expect(troubled()).to.equal(true)
  })
})
