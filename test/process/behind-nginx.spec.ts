import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import pg from 'pg'
import { startFleet, type Fleet } from '../../scripts/chaos/fleet.ts'
import { completion } from '../support/chat-answers.ts'
import { nginxConfiguration } from '../support/deploy/composed.ts'
import { programPath } from '../support/program-path.ts'
import { startNginx, type TestNginx } from '../support/servers/nginx.ts'

const tokens = 1000
/** Nearly the whole cost of a call is that of output tokens, at $2 per million. */
const usage = { prompt_tokens: 9, completion_tokens: tokens, total_tokens: tokens + 9 }

describe('two gateways behind nginx, on one PostgreSQL and one Redis', function () {
  let fleet: Fleet
  let nginx: TestNginx
  before(async function () {
    for (const program of ['postgres', 'redis-server', 'nginx'] as const) programPath(program, this)
    fleet = await startFleet({ workers: false })
    nginx = await startNginx(({ port, folder }) =>
      nginxConfiguration(
        port,
        folder,
        fleet.replicas.map(({ url }, index) => [`gateway-${index + 1}:8080`, new URL(url).host]),
      ),
    )
  })
  after(async () => {
    await nginx?.stop()
    await fleet?.stop()
  })
  beforeEach(() => fleet.upstream.answer({ ...completion('Hi.', { usage }), delayMs: 5 }))

  const ask = async (key: string, body: object = {}) =>
    fetch(`${nginx.url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'cache-control': 'no-store',
      },
      body: JSON.stringify({
        model: 'gpt-5-mini',
        messages: [{ role: 'user', content: 'hello' }],
        max_completion_tokens: tokens,
        ...body,
      }),
    })
  const statusesOf = async (count: number, key: string) => {
    const answers = Array.from({ length: count }, async () => {
      const answer = await ask(key)
      await answer.text()
      return answer.status
    })
    const statuses = await Promise.all(answers)
    return Object.fromEntries(
      Map.groupBy(statuses, String)
        .entries()
        .map(([s, all]) => [s, all.length]),
    )
  }

  it('accept exactly as many calls as a limit allows', async () => {
    const key = await fleet.createKey(['--requests-per-minute', '500'])
    expect(await statusesOf(800, key)).to.deep.equal({ 200: 500, 429: 300 })
  })

  it('pay for exactly as many calls as a budget covers', async () => {
    const usd = (10.9 * tokens * 2) / 1e6
    const key = await fleet.createKey(['--budget-usd', String(usd), '--budget-period', 'total'])
    fleet.upstream.requests.length = 0
    expect(await statusesOf(200, key)).to.deep.equal({ 200: 10, 402: 190 })
    expect(fleet.upstream.requests).to.have.lengthOf(10)
  })

  it('fail no request while they restart one after the other', async () => {
    const key = await fleet.createKey([])
    const statuses: number[] = []
    const load = { isOver: false }
    const callers = Array.from({ length: 8 }, async () => {
      while (!load.isOver) {
        const answer = await ask(key)
        await answer.text()
        statuses.push(answer.status)
      }
    })
    for (const replica of fleet.replicas) {
      await sleep(300)
      replica.kill('SIGTERM')
      await replica.restart()
    }
    await sleep(300)
    load.isOver = true
    await Promise.all(callers)
    expect(new Set(statuses)).to.deep.equal(new Set([200]))
  })

  it('end the streams of a revoked key within two seconds, at whichever gateway it was revoked', async () => {
    const key = await fleet.createKey([])
    const admin = await fleet.createKey(['--scopes', 'admin'])
    const event =
      'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}\n\n'
    fleet.upstream.answer({
      headers: { 'content-type': 'text/event-stream' },
      pieces: [event],
      hang: true,
    })
    // nginx sends requests to both gateways in turn.
    const streams = await Promise.all([1, 2, 3, 4].map(() => ask(key, { stream: true })))
    const api = `${nginx.url}/api/keys`
    const headers = { authorization: `Bearer ${admin}` }
    const { id } = await idOf(fleet.databaseUrl, key)
    const revokedAt = performance.now()
    const revoked = await fetch(`${api}/${id}`, { method: 'DELETE', headers })
    expect(revoked.status).to.be.oneOf([200, 204])
    await Promise.all(streams.map((stream) => stream.text().catch(() => '')))
    expect(performance.now() - revokedAt).to.be.lessThan(2000)
    const afterwards = await Promise.all([1, 2, 3, 4].map(() => ask(key)))
    expect(afterwards.map(({ status }) => status)).to.deep.equal([401, 401, 401, 401])
  })
})

async function idOf(databaseUrl: string, key: string): Promise<{ id: string }> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  const { rows } = await client.query<{ id: string }>(
    'select id from api_keys where hint like $1',
    [`%${key.slice(-4)}`],
  )
  await client.end()
  return rows[0]!
}
