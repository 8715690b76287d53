import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import { stringify } from 'yaml'
import { completion } from '../support/chat-answers.ts'
import { runCommand } from '../support/command-line.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { hello, ownKey, ownProvider } from '../support/own-endpoint.ts'
import { startServer, type ServerProcess } from '../support/server-process.ts'
import { until } from '../support/until.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'
import { programPath } from '../support/program-path.ts'
import { loggedLines, workersOf, workerVariables } from '../support/worker-processes.ts'

const tokens = 1000
/** Cost of a call: output tokens at $2 per million. */
const callNanoUsd = tokens * 2000

type Answered = { status: number; requestId: string | null }

describe('two workers under load', () => {
  let folder: TemporaryFolder
  let upstream: Upstream
  let server: ServerProcess
  let key: string
  const usage = { prompt_tokens: 9, completion_tokens: tokens, total_tokens: tokens + 9 }

  let shared: Record<string, string>
  before(function () {
    programPath('redis-server', this)
  })
  beforeEach(async () => {
    shared = await workerVariables()
    folder = makeFolder()
    upstream = await startUpstream()
    writeSettings({})
    server = await startServer({ folder: folder.path, variables: variables() })
    await until('both workers answer', () => workersOf(server).length === 2)
    const words = [
      'keys',
      'create',
      '--mode',
      'live',
      '--name',
      'any',
      '--scopes',
      'admin,inference',
    ]
    const made = await runCommand(words, { ...variables(), WORKERS: '1' })
    key = /mag_live_[\w-]+/.exec(made.stdout)![0]
  })
  afterEach(async () => {
    server.kill('SIGKILL')
    await server.ended
    await upstream.stop()
    folder.remove()
  })

  const variables = () => ({
    DATA_DIR: join(folder.path, 'data'),
    CONFIG_FILE: join(folder.path, 'gateway.yaml'),
    OWN_API_KEY: ownKey,
    ...shared,
  })
  const writeSettings = (more: object) => {
    const limits = { route_tries_max: 1 }
    const routes = { 'gpt-5-mini': ['own/house-1'] }
    const file = { providers: [ownProvider('own', upstream)], routes, limits, ...more }
    writeFileSync(join(folder.path, 'gateway.yaml'), stringify(file))
  }
  const ask = async (more: object = {}): Promise<Answered> => {
    const answer = await fetch(`${server.url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'cache-control': 'no-store',
        connection: 'close',
      },
      body: JSON.stringify({
        model: 'gpt-5-mini',
        messages: hello,
        max_completion_tokens: tokens,
        ...more,
      }),
    })
    await answer.text()
    return { status: answer.status, requestId: answer.headers.get('x-request-id') }
  }
  const inStore = <T>(run: (database: DatabaseSync) => T): T => {
    const database = new DatabaseSync(join(folder.path, 'data', 'gateway.db'), { timeout: 5000 })
    try {
      return run(database)
    } finally {
      database.close()
    }
  }
  const one = (sql: string) => inStore((database) => Object.values(database.prepare(sql).get()!)[0])
  const recorded = () =>
    inStore((database) => database.prepare('select id from usage').all()).map(({ id }) => id)

  it('pay exactly as many calls as a budget allows', async () => {
    inStore((database) =>
      database.exec(
        `update api_keys set budget_nano_usd = ${10.9 * callNanoUsd}, budget_period = 'total'`,
      ),
    )
    upstream.answer((_request, at) => ({ ...completion('Hi.', { usage }), delayMs: at % 30 }))
    const answers = await Promise.all(Array.from({ length: 200 }, () => ask()))
    const statuses = answers.map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).to.have.length(10)
    expect(new Set(statuses)).to.deep.equal(new Set([200, 402]))
    expect(upstream.requests).to.have.length(10)
    expect(one('select reserved_nano_usd from budget_windows')).to.equal(0)
    await until('both have logged requests', () => {
      const lines = loggedLines(server).filter(({ msg }) => msg.startsWith('request'))
      return new Set(lines.map(({ worker }) => worker)).size === 2
    })
  })

  it('lose only the calls of a killed worker; its reserved amounts are charged', async () => {
    inStore((database) =>
      database.exec(
        `update api_keys set budget_nano_usd = ${1000 * callNanoUsd}, budget_period = 'total'`,
      ),
    )
    const gate = Promise.withResolvers<void>()
    upstream.answer({ ...completion('Hi.', { usage }), after: gate.promise })
    const calls = Array.from({ length: 20 }, () => ask().catch(() => undefined))
    await until('the provider has all requests', () => upstream.requests.length === 20)
    const held = 'select count(*) from reservations'
    expect(one(held)).to.equal(20)
    const [first] = workersOf(server)
    process.kill(first!.pid, 'SIGKILL')
    const freed = until('its reservations are released', () => Number(one(held)) < 20)
    const left = await freed.then(() => Number(one(held))).finally(gate.resolve)
    const answered = (await Promise.all(calls)).filter((answer) => answer !== undefined)
    expect(answered.map(({ status }) => status)).to.deep.equal(Array(left).fill(200))
    const lost = `select count(*) from usage where outcome = 'unknown' and cost_nano_usd > 0`
    expect(one(lost)).to.equal(20 - left)
    expect(recorded()).to.include.members(answered.map(({ requestId }) => requestId))
    expect(recorded()).to.have.length(20)
    expect(one('select reserved_nano_usd from budget_windows')).to.equal(0)
    expect(one('select spent_nano_usd from budget_windows')).to.equal(
      one('select sum(cost_nano_usd) from usage'),
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
    expect(recorded()).to.have.members(answered.map(({ requestId }) => requestId))
  })

  it('all apply new settings after a reload of one, with one audit event', async () => {
    upstream.answer(() => completion('Hi.', { usage }))
    writeSettings({ aliases: { swift: 'gpt-5-mini' } })
    const headers = { authorization: `Bearer ${key}`, connection: 'close' }
    const reloaded = await fetch(`${server.url}/api/reload`, { method: 'POST', headers })
    expect(await reloaded.json()).to.deep.include({ changed: ['aliases'] })
    const find = async (alias: string) =>
      (await fetch(`${server.url}/v1/models/${alias}`, { headers })).status
    const reloads = () => loggedLines(server).filter(({ msg }) => msg === 'reloaded').length
    await until('both are reloaded', () => reloads() === 2)
    for (let count = 0; count < 8; count++) expect(await find('swift')).to.equal(200)
    expect(one(`select count(*) from audit_events where action = 'settings.reload'`)).to.equal(1)
    // A signal to the primary reloads the settings. Workers that start later have the settings too.
    writeSettings({ aliases: { rapid: 'gpt-5-mini' } })
    server.kill('SIGHUP')
    await until('both are reloaded again', () => reloads() === 4)
    const [first] = workersOf(server)
    process.kill(first!.pid, 'SIGKILL')
    await until(
      'it is replaced',
      () => loggedLines(server).filter(({ msg }) => msg === 'worker is ready').length === 3,
    )
    for (let count = 0; count < 8; count++) expect(await find('rapid')).to.equal(200)
    expect(one(`select count(*) from audit_events where action = 'settings.reload'`)).to.equal(2)
  })

  it('end a revoked key on both', async () => {
    upstream.answer(() => completion('Hi.', { usage }))
    const statuses = async () =>
      new Set(
        (await Promise.all(Array.from({ length: 8 }, () => ask()))).map(({ status }) => status),
      )
    expect(await statuses()).to.deep.equal(new Set([200]))
    const id = String(one("select id from api_keys where name = 'any'"))
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
