import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import { sql } from 'kysely'
import { startThread } from '../../src/storage/sqlite-thread.ts'
import { storePath } from '../../src/storage/store.ts'
import { StoreError } from '../../src/storage/store-error.ts'
import type { Store } from '../../src/storage/store.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { openTestStore } from '../support/store.ts'
import { until } from '../support/until.ts'
import { accountRow } from '../support/callers.ts'

/** Exceeds the time limit of the thread. */
const slow = sql`
  WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 12000000)
  SELECT count(*) FROM n`

describe("the store's thread", () => {
  let folder: TemporaryFolder
  let store: Store
  const open = async (limits: { storeAnswerTimeoutMs?: number; storeQueueMax?: number }) => {
    store = await openTestStore(folder.path, 'normal', limits)
  }
  beforeEach(() => {
    folder = makeFolder()
  })
  afterEach(async () => {
    await store.close()
    folder.remove()
  })

  const accounts = async () =>
    (await store.db.selectFrom('accounts').select('id').execute()).map(({ id }) => id)
  const failure = (work: Promise<unknown>) =>
    work.then(
      () => 'it worked',
      (error: unknown) => (error instanceof StoreError ? error.message : String(error)),
    )

  it('is restarted when it takes too long, and pending queries fail', async () => {
    await open({ storeAnswerTimeoutMs: 600 })
    expect(await failure(slow.execute(store.db))).to.contain('its thread does not answer')
    expect(await failure(accounts())).to.contain('its thread does not answer')
    await until('the thread answers again', async () => (await failure(accounts())) === 'it worked')
    await store.commit(store.insertions('accounts', [accountRow('acc_1')]))
    expect(await accounts()).to.deep.equal(['acc_1'])
  })

  it('ends with its transaction, which is rolled back', async () => {
    await open({ storeAnswerTimeoutMs: 600 })
    const transaction = store.db.transaction().execute(async (inside) => {
      await inside.insertInto('accounts').values(accountRow('before')).execute()
      await slow.execute(inside).catch(() => undefined)
      let reason = 'nothing'
      await until('a new thread has started', async () => {
        reason = await failure(inside.insertInto('accounts').values(accountRow('after')).execute())
        return !reason.includes('does not answer')
      })
      expect(reason).to.equal('The thread of the store ended.')
    })
    expect(await failure(transaction)).to.equal('The thread of the store ended.')
    await until('the thread answers again', async () => (await failure(accounts())) === 'it worked')
    expect(await accounts()).to.deep.equal([])
  })

  it('that reads is replaced while one late query runs, and waited for while two run', async () => {
    await open({})
    const locked = join(folder.path, 'locked.db')
    const locker = new DatabaseSync(locked)
    locker.exec('CREATE TABLE texts (text TEXT); BEGIN EXCLUSIVE')
    const path = storePath(folder.path)
    const file = { path, durability: 'normal', busyTimeoutMs: 60_000, readOnly: true } as const
    const thread = startThread(file)
    const ask = (query: string, timeoutMs: number) => {
      thread.limitAnswers(timeoutMs)
      return failure(thread.ask({ kind: 'query', sql: query, parameters: [] }, thread.current()))
    }
    const waits = `ATTACH '${locked}' AS locked`
    for (const number of [1, 2]) {
      expect(await ask('SELECT 1', 50_000)).to.equal('it worked')
      expect(thread.current()).to.equal(number)
      expect(await ask(waits, 100)).to.contain('its thread does not answer')
    }
    expect(await ask('SELECT 1', 50_000)).to.contain('its thread does not answer')
    expect(thread.current()).to.equal(2)
    locker.close()
    await until('a third thread reads', async () => (await ask(waits, 50_000)) === 'it worked')
    await thread.stop()
  })

  it('has a bounded queue', async () => {
    await open({ storeQueueMax: 2 })
    const held = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    const transaction = store.db.transaction().execute(async () => {
      begun.resolve()
      await held.promise
    })
    await begun.promise
    const waiting = [accounts(), accounts()]
    expect(await failure(accounts())).to.equal('Too many queries wait for the store.')
    held.resolve()
    await transaction
    expect(await Promise.all(waiting)).to.deep.equal([[], []])
  })
})
