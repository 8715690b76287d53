import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import pg from 'pg'
import { locks } from '../../src/storage/postgres.ts'
import { completion, refusal } from '../support/chat-answers.ts'
import { expectFiring } from '../support/deploy/firing-alerts.ts'
import { expectServed, redisQueries } from '../support/deploy/monitoring-files.ts'
import { runIn } from '../support/each-store.ts'
import { makeFolder } from '../support/folder.ts'
import { startGateway, type GatewayOptions, type TestGateway } from '../support/gateway.ts'
import { callTool, connectClient } from '../support/mcp-client.ts'
import { hello, ownKey, ownProvider, quickLimits } from '../support/own-endpoint.ts'
import { metric } from '../support/metric.ts'
import { programPath } from '../support/program-path.ts'
import { startPostgres, type TestPostgres } from '../support/servers/postgres.ts'
import { startRedis } from '../support/servers/redis.ts'
import { until } from '../support/until.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'
import { usageRow } from '../support/usage-row.ts'

/** Timeouts are short, so that an outage is noticed between two readings. */
const quick = { storeCheckIntervalMs: 20, ledgerRetryMaxMs: 40 }
/** Readings in seven minutes, as Prometheus sees them: longer than the windows of the new alerts. */
const sevenMinutes = 14

describe('the alerts, with the metrics of a gateway', () => {
  let upstream: Upstream
  before(async function () {
    programPath('promtool', this)
    upstream = await startUpstream()
  })
  beforeEach(() => upstream.answer(completion('Hi.')))
  after(() => upstream?.stop())

  const start = ({ file, variables, ...options }: GatewayOptions = {}) =>
    startGateway({
      bounds: quick,
      ...options,
      variables: { OWN_API_KEY: ownKey, ...variables },
      file: {
        providers: [ownProvider('own', upstream)],
        ...file,
        limits: { ...quickLimits, cache_ttl_seconds: 0, ...file?.limits },
      },
    })
  const chat = async (gateway: TestGateway) => {
    const body = { model: 'own/house-1', messages: hello }
    const answer = await gateway.post('/v1/chat/completions', body, { key: gateway.liveKey })
    await answer.arrayBuffer()
    return answer.status
  }
  const read = async (gateway: TestGateway) =>
    (await gateway.fetch('/metrics', { key: null })).text()
  /** Readings with calls between them. */
  const watch = async (
    gateway: TestGateway,
    act: (gateway: TestGateway, at: number) => Promise<unknown> = chat,
  ) => {
    const pages: string[] = []
    for (let at = 0; at < sevenMinutes; at++) {
      await act(gateway, at)
      pages.push(await read(gateway))
    }
    return pages
  }

  it('are silent while all is well, and report a gateway that does not answer', async () => {
    await using gateway = await start()
    const pages = await watch(gateway)
    await expectFiring(pages, [])
    await expectFiring([...pages, ...Array<string>(6).fill('away')], ['GatewayDown'])
    await expectFiring(Array<string>(6).fill('unknown'), ['GatewayDown'])
  })

  describe('on PostgreSQL', () => {
    let server: TestPostgres
    let url: string
    let gateway: TestGateway
    before(async function () {
      programPath('postgres', this)
      server = await startPostgres()
    })
    after(() => server?.stop())
    beforeEach(async () => {
      url = await server.createDatabase()
      const limits = { database_connections_max: 2 }
      gateway = await start({ variables: { DATABASE_URL: url }, file: { limits } })
    })
    afterEach(() => gateway.stop())

    it('report a database that is stopped under load, until it is back', async () => {
      const before = await watch(gateway)
      await expectFiring(before, [])
      const gate = Promise.withResolvers<void>()
      upstream.answer({ ...completion('Hi.'), after: gate.promise })
      const answered = chat(gateway)
      await until('the vendor is asked', () => upstream.requests.length === 1)
      server.killAll('SIGKILL')
      gate.resolve()
      expect(await answered).to.equal(200)
      await until(
        'the outage is noticed',
        async () => (await metric(gateway, 'gateway_store_up')) === 0,
      )
      const during = await watch(gateway, async () => expect(await chat(gateway)).to.equal(503))
      expect(during.at(-1)).to.match(/^gateway_journal_rows 1$/m)
      await expectFiring(
        [...before, ...during],
        ['GatewayJournalHoldsRows', 'GatewayRefusesRequests', 'GatewayStoreAway'],
      )
      await server.restart()
      upstream.answer(completion('Hi.'))
      await until('it is back', async () => (await metric(gateway, 'gateway_store_up')) === 1)
      const after = await watch(gateway)
      expect(after.at(-1)).to.match(/^gateway_journal_rows 0$/m)
      await expectFiring([...before, ...during, ...after], [])
    })

    it('report commits that wait for a lock', async () => {
      const pages = await watch(gateway, async (_, at) => {
        if (at % 3 > 0) return chat(gateway)
        const held = hold('usage', 'exclusive', 'select pg_sleep(0.7)')
        await until('it is held', () => isHeld('usage'))
        const status = await chat(gateway)
        await held
        return status
      })
      await expectFiring(pages, ['GatewayCommitsSlow'])
    })

    it('report queries that wait for a connection', async () => {
      const made = Array.from({ length: 20 }, () => gateway.createKey('live'))
      const keys = await Promise.all(made)
      const client = new pg.Client({ connectionString: url })
      await client.connect()
      await client.query('begin; lock table api_keys in access exclusive mode')
      const waiting = keys.map((key) => gateway.fetch('/v1/models', { key }))
      const idle = async () => undefined
      await until('they wait', async () =>
        /^gateway_database_pool_waiting 1\d$/m.test(await read(gateway)),
      )
      const pages = await watch(gateway, idle)
      await client.query('rollback')
      await client.end()
      await Promise.all(waiting)
      await expectFiring(pages, ['GatewayDatabaseBusy'])
      const after = await watch(gateway)
      await expectFiring([...pages, ...after], [])
    })

    it('report sums of usage that no process folds', async () => {
      const client = new pg.Client({ connectionString: url })
      await client.connect()
      await client.query(`select pg_advisory_lock(${locks.fold})`)
      const rows = Array.from({ length: 10_001 }, (_, index) => usageRow(`req_${index}`))
      await gateway.addUsage(rows.map((row) => ({ ...row, model: row.id })))
      const waiting = () => metric(gateway, 'gateway_sum_deltas_waiting')
      await until('they wait', async () => (await waiting()) > 10_000)
      const pages = await watch(gateway)
      await client.end()
      await expectFiring(pages, ['GatewaySumsWait'])
      await until('they are folded', async () => (await waiting()) === 0)
    })

    const hold = (table: string, mode: string, meanwhile: string) =>
      runIn(url, `begin; lock table ${table} in ${mode} mode; ${meanwhile}; commit`)
    const isHeld = async (table: string) => {
      const locks = await runIn(
        url,
        `select 1 from pg_locks where relation = '${table}'::regclass and mode = 'ExclusiveLock'`,
      )
      return locks.length > 0
    }
  })

  it('report a full disk', async function () {
    const folder = makeFolder()
    const disk = join(folder.path, 'disk')
    mkdirSync(disk)
    const words = ['-t', 'tmpfs', '-o', 'size=12m', 'tmpfs', disk]
    if (spawnSync('mount', words).status !== 0) return this.skip()
    try {
      await using gateway = await start({ variables: { DATA_DIR: join(disk, 'data') } })
      expect(await chat(gateway)).to.equal(200)
      expect(() => writeFileSync(join(disk, 'filler'), Buffer.alloc(12 << 20))).to.throw('ENOSPC')
      const pages = await watch(gateway)
      expect(pages.at(-1)).to.match(/^gateway_data_dir_free_bytes 0$/m)
      await expectFiring(pages, [
        'GatewayDataDirFull',
        'GatewayJournalHoldsRows',
        'GatewayRefusesRequests',
        'GatewayStoreAway',
      ])
    } finally {
      spawnSync('umount', [disk])
      folder.remove()
    }
  })

  it('report that the gateway refuses requests', async () => {
    await using gateway = await start({ file: { limits: { concurrent_requests_max: 1 } } })
    const quiet = await read(gateway)
    const gate = Promise.withResolvers<void>()
    upstream.answer({ ...completion('Hi.'), after: gate.promise })
    const first = chat(gateway)
    await until('the vendor is asked', () => upstream.requests.length === 1)
    const refuse = async () => expect(await chat(gateway)).to.equal(503)
    await refuse()
    const one = await read(gateway)
    await expectFiring([quiet, ...Array<string>(8).fill(one)], [])
    const pages = await watch(gateway, refuse)
    await expectFiring(pages, ['GatewayRefusesRequests'])
    // Also if they began and ended between two readings.
    await expectFiring([quiet, ...Array<string>(8).fill(pages.at(-1)!)], ['GatewayRefusesRequests'])
    gate.resolve()
    expect(await first).to.equal(200)
  })

  it('report refusals of a few requests among many of monitoring', async () => {
    await using gateway = await start()
    const pages = await watch(gateway, async () => {
      for (let probe = 0; probe < 20; probe++) await gateway.fetch('/health', { key: null })
      const body = { model: 'gpt-5-mini', messages: hello }
      const refused = await gateway.post('/v1/chat/completions', body, { key: gateway.liveKey })
      expect(refused.status).to.equal(503)
    })
    await expectFiring(pages, ['GatewayRefusesRequests'])
  })

  it('report that the gateway refuses calls of tools', async () => {
    await using gateway = await start()
    const client = await connectClient(gateway, gateway.liveKey)
    const pages = await watch(gateway, () =>
      callTool(client, 'chat', { model: 'gpt-5-mini', messages: hello }),
    )
    await client.close()
    await expectFiring(pages, ['GatewayRefusesRequests'])
  })

  it('report a vendor that fails', async () => {
    await using gateway = await start()
    const before = await watch(gateway)
    upstream.answer(refusal(503))
    const during = [...(await watch(gateway)), ...(await watch(gateway))]
    await expectFiring(
      [...before, ...during],
      ['GatewayCallsFail', 'GatewayCircuitOpen', 'GatewayProviderFails'],
    )
  })

  it('report a vendor that refuses the key', async () => {
    await using gateway = await start()
    upstream.answer(refusal(401))
    const pages = await watch(gateway)
    await expectFiring(pages, [
      'GatewayCircuitOpen',
      'GatewayProviderAccount',
      'GatewayProviderFails',
    ])
  })

  it('report that Redis does not answer, with metrics that only a gateway with Redis has', async function () {
    programPath('redis-server', this)
    const redis = await startRedis()
    const gateway = await start({ redisUrl: redis.url })
    try {
      const before = await watch(gateway)
      expectServed(before[0]!, redisQueries, [])
      await expectFiring(before, [])
      redis.kill('SIGKILL')
      const up = () => metric(gateway, 'gateway_redis_up')
      await until('the outage is noticed', async () => (await up()) === 0)
      await expectFiring([...before, ...(await watch(gateway))], ['GatewayRedisAway'])
    } finally {
      await gateway.stop()
      await redis.stop()
    }
  })
})
