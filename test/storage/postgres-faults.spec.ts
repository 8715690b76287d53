import { expect } from 'chai'
import type { GuardedStore } from '../../src/storage/store-guard.ts'
import { StoreError } from '../../src/storage/store-error.ts'
import type { Store } from '../../src/storage/store.ts'
import { runIn, useDatabase } from '../support/each-store.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { programPath } from '../support/program-path.ts'
import { startPostgres, type TestPostgres } from '../support/servers/postgres.ts'
import { openGuardedStore, openTestStore } from '../support/store.ts'
import { until } from '../support/until.ts'
import { usageRow } from '../support/usage-row.ts'

const quick = {
  databaseConnectTimeoutMs: 1000,
  databaseQueryTimeoutMs: 1000,
  databaseStartWaitMs: 0,
  storeCheckIntervalMs: 20,
}

describe('a store on PostgreSQL', () => {
  let server: TestPostgres
  let url: string
  let folder: TemporaryFolder
  before(async function () {
    programPath('postgres', this)
    server = await startPostgres()
  })
  after(() => server.stop())
  beforeEach(async () => {
    folder = makeFolder()
    url = await server.createDatabase()
    useDatabase(folder.path, url)
  })
  afterEach(() => folder.remove())

  type Opening = { at?: string; limits?: Partial<typeof quick>; notices?: string[] }
  const open = ({ at = url, limits, notices }: Opening = {}) => {
    useDatabase(folder.path, at)
    return openTestStore(folder.path, 'normal', limits, notices)
  }

  describe('that cannot be opened', () => {
    const changed = (change: (address: URL) => void) => {
      const address = new URL(url)
      change(address)
      return String(address)
    }
    const reasons: [name: string, address: () => string | Promise<string>, says: RegExp][] = [
      [
        'a wrong password',
        async () => {
          await runIn(url, `create role guest login password 'right'`)
          await runIn(url, passwordsForGuests)
          await runIn(url, 'select pg_reload_conf()')
          return changed((one) => {
            one.username = 'guest'
            one.password = 'wrong-secret'
          })
        },
        /the password for guest is wrong.*Correct DATABASE_URL\.$/,
      ],
      [
        'a database that is not there',
        () => changed((one) => (one.pathname = '/nothing')),
        /the database nothing does not exist\. Create it \(createdb nothing\), or correct DATABASE_URL\.$/,
      ],
      [
        'a port where nothing listens',
        () => changed((one) => (one.port = '1')),
        /nothing listens on 127\.0\.0\.1, port 1\. Start PostgreSQL there/,
      ],
      [
        'an unknown host',
        () => changed((one) => (one.hostname = 'nowhere.invalid')),
        /the host name nowhere\.invalid cannot be resolved\. Correct DATABASE_URL\.$/,
      ],
      [
        'a server without TLS',
        () => changed((one) => one.searchParams.set('sslmode', 'verify-full')),
        /it does not support TLS\. Enable TLS on the server, or remove sslmode from DATABASE_URL\.$/,
      ],
      [
        'a user who may make no tables',
        async () => {
          await runIn(url, `create role reader login`)
          return changed((one) => (one.username = 'reader'))
        },
        /reader lacks a permission there\. Make reader the owner of the database\.$/,
      ],
    ]
    for (const [name, address, says] of reasons) {
      it(`reports ${name}`, async () => {
        const failed = open({ at: await address(), limits: quick })
        const error: unknown = await failed.then(
          (store) => store.close(),
          (thrown: unknown) => thrown,
        )
        expect(error).to.be.instanceOf(StoreError)
        const { message } = error as StoreError
        expect(message).to.match(/^The database \S+ on \S+:\d+ cannot be opened: /)
        expect(message).to.match(says)
        expect(message).to.not.contain('wrong-secret')
      })
    }

    it('refuses a store that a newer version has migrated', async () => {
      await (await open()).close()
      await runIn(url, `insert into kysely_migration values ('9999_future', now()::text)`)
      const error: unknown = await open().catch((thrown: unknown) => thrown)
      expect((error as Error).message).to.match(/newer version of the gateway.*Update the gateway/)
    })
  })

  it('is migrated once if processes start at once, and has the rows of all', async () => {
    const stores = await Promise.all(Array.from({ length: 4 }, () => open()))
    await Promise.all(
      stores.map((store, at) => store.commit(store.insertions('usage', [usageRow(`req_${at}`)]))),
    )
    const [found] = await runIn(url, 'select count(*)::int as rows from usage')
    expect(found).to.deep.equal({ rows: 4 })
    await Promise.all(stores.map((store) => store.close()))
  })

  it('continues after another version added a column, also after a transaction that failed from it', async () => {
    const store = await open({ limits: quick })
    const read = (db: Store['db']) =>
      db.selectFrom('accounts').selectAll().where('id', '=', 'acc_none').execute()
    await Promise.all([read(store.db), read(store.db)])
    await runIn(url, 'alter table accounts add column of_tomorrow text')
    const both = await Promise.all([read(store.db), read(store.db)])
    expect(both).to.deep.equal([[], []])
    await runIn(url, 'alter table accounts add column of_next_week text')
    const within = () => store.db.transaction().execute(read)
    await within().catch(() => undefined)
    expect(await within()).to.deep.equal([])
    await store.close()
  })

  it('waits for a server that starts later, and prints one notice', async () => {
    server.kill('SIGKILL')
    const notices: string[] = []
    const opened = open({ limits: { databaseStartWaitMs: 20_000 }, notices })
    await until('the notice is printed', () => notices.length > 0)
    await server.restart()
    await (await opened).close()
    expect(notices).to.have.length(1)
    expect(notices[0]).to.match(
      /^Waiting up to 20 s for the database test_\w+ on 127\.0\.0\.1:\d+: /,
    )
  })

  describe('that is guarded', () => {
    let store: GuardedStore
    const notices: string[] = []
    let made = 0
    beforeEach(async () => {
      notices.length = 0
      store = await openGuardedStore(folder.path, { limits: quick, notices })
    })
    afterEach(() => store.close())

    const keep = (id: string) => store.insert('usage', [{ ...usageRow(id), at: ++made }])
    const kept = async () => {
      const rows = await runIn(url, 'select id from usage order by at')
      return rows.map((row) => (row as { id: string }).id)
    }
    /** Suspends the server and its connection processes; the returned function resumes them. */
    const freeze = async () => {
      const found = await runIn(
        url,
        'select pid from pg_stat_activity where pid <> pg_backend_pid()',
      )
      const all = (signal: NodeJS.Signals) => {
        server.kill(signal)
        for (const one of found) process.kill((one as { pid: number }).pid, signal)
      }
      all('SIGSTOP')
      return () => all('SIGCONT')
    }
    const isWell = () => {
      try {
        store.assertWritable()
        return true
      } catch {
        return false
      }
    }

    it('keeps rows while the server is killed, refuses new work, and recovers', async () => {
      const ids: string[] = []
      const keepNext = () => {
        ids.push(`req_${ids.length}`)
        return keep(ids.at(-1)!)
      }
      await keepNext()
      server.kill('SIGKILL')
      do await keepNext()
      while (isWell())
      await keepNext()
      await server.restart()
      await until('the store accepts rows again', isWell)
      await keepNext()
      expect(await kept()).to.deep.equal(ids)
      expect(notices.at(-1)).to.match(/^recovered [1-9]/)
    })

    it('keeps rows while the server hangs, counts none twice, and recovers', async () => {
      await keep('req_1')
      const thaw = await freeze()
      const startedAt = performance.now()
      try {
        await Promise.all([
          keep('req_2'),
          keep('req_3'),
          store.db
            .selectFrom('usage')
            .selectAll()
            .execute()
            .catch(() => undefined),
        ])
        expect(performance.now() - startedAt).to.be.below(6000)
        expect(isWell()).to.equal(false)
        await keep('req_4')
      } finally {
        thaw()
      }
      await until('the store accepts rows again', isWell)
      expect((await kept()).toSorted()).to.deep.equal(['req_1', 'req_2', 'req_3', 'req_4'])
      const [hours] = await runIn(url, 'select sum(calls)::int as calls from usage_hours')
      expect(hours).to.deep.equal({ calls: 4 })
    })

    it('notices a server that hangs before the next call', async () => {
      const thaw = await freeze()
      await until('the trouble is noticed', () => !isWell()).finally(thaw)
      await until('the store accepts rows again', isWell)
    })

    it('accepts no calls while the server is read-only', async () => {
      await runIn(
        url,
        `alter database ${new URL(url).pathname.slice(1)} set default_transaction_read_only = on`,
      )
      await runIn(url, cutAll)
      await keep('req_1')
      expect(isWell()).to.equal(false)
      expect(notices.at(-1)).to.equal('PostgreSQL is read-only')
      await runIn(
        url,
        `set transaction_read_only = off; alter database ${new URL(url).pathname.slice(1)} set default_transaction_read_only = off`,
      )
      await runIn(url, cutAll)
      await until('the store accepts rows again', isWell)
      expect(await kept()).to.deep.equal(['req_1'])
    })

    it('continues when a connection is cut', async () => {
      await keep('req_1')
      for (let round = 0; round < 5; round++) {
        await Promise.all([runIn(url, cutAll), keep(`req_cut_${round}`)])
        expect(await kept()).to.include(`req_cut_${round}`)
      }
      expect(notices).to.deep.equal([])
    })

    it('refuses an invalid row, and replaces characters that PostgreSQL cannot store', async () => {
      const odd = { ...usageRow('req_odd'), model: 'a\0b\ud800c' }
      await store.insert('usage', [odd])
      const [row] = await runIn(url, 'select model from usage')
      expect(row).to.deep.equal({ model: 'a\u{fffd}b\u{fffd}c' })
      const wrong = { ...usageRow('req_wrong'), mode: null as unknown as string }
      const error: unknown = await store.insert('usage', [wrong]).catch((thrown: unknown) => thrown)
      expect(error).to.be.instanceOf(StoreError)
      expect((error as StoreError).concernsRow).to.equal(true)
      expect(isWell()).to.equal(true)
    })
  })

  it('returns integers, and refuses unsafe ones', async () => {
    const store: Store = await open()
    const big = { ...usageRow('req_1'), cost_nano_usd: Number.MAX_SAFE_INTEGER }
    await store.commit(store.insertions('usage', [big]))
    const read = () => store.db.selectFrom('usage').select('cost_nano_usd').execute()
    expect(await read()).to.deep.equal([{ cost_nano_usd: Number.MAX_SAFE_INTEGER }])
    await runIn(url, 'update usage set cost_nano_usd = cost_nano_usd + 1')
    const error: unknown = await read().catch((thrown: unknown) => thrown)
    expect((error as Error).message).to.match(/9007199254740992, which is not a safe integer/)
    await store.close()
  })
})

const passwordsForGuests = `
  do $$ begin execute format(
    'copy (values (%L), (%L)) to %L',
    'host all guest all scram-sha-256', 'host all all all trust', current_setting('hba_file')
  ); end $$`

const cutAll = `select pg_terminate_backend(pid) from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid()`
