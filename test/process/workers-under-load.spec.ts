import { expect } from 'chai'
import { completion } from '../support/chat-answers.ts'
import {
  callNanoUsd,
  prepareGateways,
  usage,
  type GatewayProcesses,
} from '../support/gateway-processes.ts'
import { programPath } from '../support/program-path.ts'
import type { ServerProcess } from '../support/server-process.ts'
import { until } from '../support/until.ts'
import type { Upstream } from '../support/upstream.ts'
import { loggedLines, workersOf, workerVariables } from '../support/worker-processes.ts'

type Answered = { status: number; requestId: string | null }

describe('two workers under load', () => {
  let gateways: GatewayProcesses
  let upstream: Upstream
  let server: ServerProcess
  let key: string
  before(function () {
    programPath('redis-server', this)
  })
  beforeEach(async () => {
    gateways = await prepareGateways({ variables: await workerVariables() })
    upstream = gateways.upstream
    server = await gateways.start()
    await until('both workers answer', () => workersOf(server).length === 2)
    key = await gateways.createKey('any', ['--scopes', 'admin,inference'])
  })
  afterEach(() => gateways.stop())

  const ask = async (): Promise<Answered> => {
    const { status, headers } = await gateways.post(server, key, {
      headers: { connection: 'close' },
    })
    return { status, requestId: headers.get('x-request-id') }
  }
  const one = async (sql: string) => Object.values((await gateways.query(sql))[0]!)[0]
  const recorded = async () => (await gateways.query('select id from usage')).map(({ id }) => id)

  it('pay exactly as many calls as a budget allows', async () => {
    await gateways.query(
      `update api_keys set budget_nano_usd = ${10.9 * callNanoUsd}, budget_period = 'total'`,
    )
    upstream.answer((_request, at) => ({ ...completion('Hi.', { usage }), delayMs: at % 30 }))
    const answers = await Promise.all(Array.from({ length: 200 }, () => ask()))
    const statuses = answers.map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).to.have.length(10)
    expect(new Set(statuses)).to.deep.equal(new Set([200, 402]))
    expect(upstream.requests).to.have.length(10)
    expect(await one('select reserved_nano_usd from budget_windows')).to.equal(0)
    await until('both have logged requests', () => {
      const lines = loggedLines(server).filter(({ msg }) => msg.startsWith('request'))
      return new Set(lines.map(({ worker }) => worker)).size === 2
    })
  })

  it('lose only the calls of a killed worker; its reserved amounts are charged', async () => {
    await gateways.query(
      `update api_keys set budget_nano_usd = ${1000 * callNanoUsd}, budget_period = 'total'`,
    )
    const gate = Promise.withResolvers<void>()
    upstream.answer({ ...completion('Hi.', { usage }), after: gate.promise })
    const calls = Array.from({ length: 20 }, () => ask().catch(() => undefined))
    await until('the provider has all requests', () => upstream.requests.length === 20)
    const held = 'select count(*) from reservations'
    expect(await one(held)).to.equal(20)
    const [first] = workersOf(server)
    process.kill(first!.pid, 'SIGKILL')
    const freed = until('its reservations are released', async () => Number(await one(held)) < 20)
    const left = await freed.then(async () => Number(await one(held))).finally(gate.resolve)
    const answered = (await Promise.all(calls)).filter((answer) => answer !== undefined)
    expect(answered.map(({ status }) => status)).to.deep.equal(Array(left).fill(200))
    const lost = `select count(*) from usage where outcome = 'unknown' and cost_nano_usd > 0`
    expect(await one(lost)).to.equal(20 - left)
    expect(await recorded()).to.include.members(answered.map(({ requestId }) => requestId))
    expect(await recorded()).to.have.length(20)
    expect(await one('select reserved_nano_usd from budget_windows')).to.equal(0)
    expect(await one('select spent_nano_usd from budget_windows')).to.equal(
      await one('select sum(cost_nano_usd) from usage'),
    )
    await until('the worker is replaced', () => workersOf(server).length === 2)
    const after = await Promise.all(Array.from({ length: 10 }, () => ask()))
    expect(after.map(({ status }) => status)).to.deep.equal(Array(10).fill(200))
  })

  it('finish and record calls in progress when they are stopped', async () => {
    upstream.answer((_request, at) => ({
      ...completion('Hi.', { usage }),
      delayMs: 200 + (at % 50),
    }))
    const answered: Answered[] = []
    const caller = async () => {
      for (;;) {
        const answer = await ask().catch((error: unknown) => error as Error)
        if (answer instanceof Error) {
          // The call fails because the port is closed, or closes before the connection is accepted.
          const { message = '' } = (answer.cause ?? {}) as Partial<Error>
          expect(message).to.match(/ECONNREFUSED|ECONNRESET|other side closed/)
          return
        }
        answered.push(answer)
      }
    }
    const callers = Promise.all(Array.from({ length: 16 }, caller))
    await until('calls are answered', () => answered.length > 16)
    server.kill('SIGTERM')
    const { code } = await server.ended
    await callers
    expect(code).to.equal(0)
    // Every call that reached the provider was answered.
    expect(upstream.requests).to.have.length(answered.length)
    expect(new Set(answered.map(({ status }) => status))).to.deep.equal(new Set([200]))
    expect(await recorded()).to.have.members(answered.map(({ requestId }) => requestId))
  })

  it('all apply new settings after a reload of one, with one audit event', async () => {
    upstream.answer(() => completion('Hi.', { usage }))
    gateways.writeSettings({ aliases: { swift: 'gpt-5-mini' } })
    const headers = { authorization: `Bearer ${key}`, connection: 'close' }
    const reloaded = await fetch(`${server.url}/api/reload`, { method: 'POST', headers })
    expect(await reloaded.json()).to.deep.include({ changed: ['aliases'] })
    const find = async (alias: string) =>
      (await fetch(`${server.url}/v1/models/${alias}`, { headers })).status
    const reloads = () => loggedLines(server).filter(({ msg }) => msg === 'reloaded').length
    await until('both are reloaded', () => reloads() === 2)
    for (let count = 0; count < 8; count++) expect(await find('swift')).to.equal(200)
    expect(
      await one(`select count(*) from audit_events where action = 'settings.reload'`),
    ).to.equal(1)
    // A signal to the primary reloads the settings. Workers that start later have the settings too.
    gateways.writeSettings({ aliases: { rapid: 'gpt-5-mini' } })
    server.kill('SIGHUP')
    await until('both are reloaded again', () => reloads() === 4)
    const [first] = workersOf(server)
    process.kill(first!.pid, 'SIGKILL')
    await until(
      'it is replaced',
      () => loggedLines(server).filter(({ msg }) => msg === 'worker is ready').length === 3,
    )
    for (let count = 0; count < 8; count++) expect(await find('rapid')).to.equal(200)
    expect(
      await one(`select count(*) from audit_events where action = 'settings.reload'`),
    ).to.equal(2)
  })

  it('end a revoked key on both', async () => {
    upstream.answer(() => completion('Hi.', { usage }))
    const statuses = async () =>
      new Set(
        (await Promise.all(Array.from({ length: 8 }, () => ask()))).map(({ status }) => status),
      )
    expect(await statuses()).to.deep.equal(new Set([200]))
    const id = String(await one("select id from api_keys where name = 'any'"))
    const headers = { authorization: `Bearer ${key}` }
    const path = `${server.url}/api/keys/${id}`
    expect((await fetch(path, { method: 'DELETE', headers })).ok).to.equal(true)
    const askedAt = performance.now()
    await until('both workers refuse the key', async () => {
      const seen = await statuses()
      return seen.size === 1 && seen.has(401)
    })
    expect(performance.now() - askedAt).to.be.below(2000)
  })
})
