import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as immediately, setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { openRedis, type Redis } from '../../src/peers/redis.ts'
import { freePort } from '../../scripts/free-port.ts'
import { programPath } from '../support/program-path.ts'
import { startRedis, type TestRedis } from '../support/servers/redis.ts'
import { until } from '../support/until.ts'

const limits = {
  redisConnectTimeoutMs: 300,
  redisCommandTimeoutMs: 150,
  redisPingIntervalMs: 100,
}

/** A script that runs for 30 ms on the Redis server. */
const slowScript = `
  local from = redis.call('TIME')
  repeat
    local now = redis.call('TIME')
  until (now[1] - from[1]) * 1000000 + (now[2] - from[2]) > 30000
  return 'done'
`

type Notice = { what: string; reason?: string; remedy?: string }

/** Opens a connection to Redis, and collects its events for the operator. */
async function open(url: string, keyPrefix = 'gateway:') {
  const notices: Notice[] = []
  const redis = await openRedis({
    url,
    keyPrefix,
    limits,
    events: {
      redisLost: (_, { reason, remedy }) => notices.push({ what: 'lost', reason, remedy }),
      redisBack: () => notices.push({ what: 'back' }),
      redisRefused: (_, { reason, remedy }) => notices.push({ what: 'refused', reason, remedy }),
    },
  })
  opened.push(redis)
  return { redis, notices }
}

const opened: Redis[] = []
const servers: TestRedis[] = []

async function start(words: readonly string[] = []): Promise<TestRedis> {
  const server = await startRedis(words)
  servers.push(server)
  return server
}

/** Duration of the work in milliseconds, and its outcome. */
async function timed<T>(work: Promise<T>): Promise<{ ms: number; end: T | string }> {
  const from = performance.now()
  const end = await work.catch((error: Error) => error.name)
  return { ms: performance.now() - from, end }
}

describe('the connection to Redis', () => {
  before(function () {
    programPath('redis-server', this)
  })
  afterEach(async () => {
    for (const redis of opened.splice(0)) redis.close()
    await Promise.all(servers.splice(0).map((server) => server.stop()))
  })

  it('runs commands with its key prefix', async () => {
    const { url } = await start()
    const { redis, notices } = await open(url)
    await redis.run((commands) => commands.set('a', '1'))
    expect(redis.isUp()).to.equal(true)
    const { redis: bare } = await open(url, 'gateway')
    expect(await bare.run((commands) => commands.get(':a'))).to.equal('1')
    expect(notices).to.deep.equal([])
  })

  it('delivers messages only within the same prefix and database', async () => {
    const { url } = await start()
    const heard: string[] = []
    for (const [name, address, prefix] of [
      ['same', url, 'gateway:'],
      ['other database', `${url}/1`, 'gateway:'],
      ['other prefix', url, 'second:'],
    ] as const) {
      const { redis } = await open(address, prefix)
      redis.subscribe('news', (message) => heard.push(`${name}: ${message}`))
    }
    const { redis } = await open(url)
    await until('the message has arrived', async () => {
      await redis.publish('news', 'hello')
      return heard.length > 0
    })
    expect(new Set(heard)).to.deep.equal(new Set(['same: hello']))
  })

  it('reconnects with its subscriptions soon after a killed server restarts', async () => {
    const server = await start()
    const { redis, notices } = await open(server.url)
    const heard: string[] = []
    redis.subscribe('news', (message) => heard.push(message))
    server.kill('SIGKILL')
    await until('the outage is noticed', () => !redis.isUp())
    const { ms, end } = await timed(redis.run((commands) => commands.get('a'), 10_000))
    expect(end).to.equal('RedisDown')
    expect(ms).to.be.below(5000)
    await server.restart()
    const from = performance.now()
    await until('the connection is back', () => redis.isUp())
    expect(performance.now() - from).to.be.below(10_000)
    await redis.publish('news', 'hello')
    await until('the message has arrived', () => heard.includes('hello'))
    expect(notices.map(({ what }) => what)).to.deep.equal(['lost', 'back'])
  })

  it('notices a frozen server, and rejects commands in time', async () => {
    const server = await start()
    const { redis, notices } = await open(server.url)
    server.kill('SIGSTOP')
    const { ms, end } = await timed(redis.run((commands) => commands.get('a')))
    expect(end).to.equal('RedisDown')
    expect(ms).to.be.within(100, 5000)
    await until('the outage is noticed', () => !redis.isUp())
    server.kill('SIGCONT')
    await until('the connection is back', () => redis.isUp())
    expect(await redis.run((commands) => commands.ping())).to.equal('PONG')
    expect(notices.map(({ what, reason }) => [what, reason])).to.deep.equal([
      ['lost', 'It does not answer in time'],
      ['back', undefined],
    ])
  })

  it('accepts an answer that arrived while this process was busy', async () => {
    const { url } = await start()
    const { redis } = await open(url)
    const asked = redis.run((commands) => commands.eval(slowScript), 250)
    await sleep(10)
    // In the next turn of the event loop, timers run before sockets are read.
    await immediately()
    const busyUntil = performance.now() + 500
    while (performance.now() < busyUntil);
    expect(await asked).to.equal('done')
    expect(redis.isUp()).to.equal(true)
  })

  it('starts without a server, and connects when one starts', async () => {
    const port = await freePort()
    const { redis, notices } = await open(`redis://127.0.0.1:${port}`)
    expect(redis.isUp()).to.equal(false)
    await start(['--port', String(port)])
    await until('the connection is open', () => redis.isUp())
    expect(notices.map(({ what, reason }) => [what, reason])).to.deep.equal([
      ['lost', 'nothing listens there'],
      ['back', undefined],
    ])
  })

  it('starts with a frozen server', async () => {
    const server = await start()
    server.kill('SIGSTOP')
    const { redis } = await open(server.url)
    expect(redis.isUp()).to.equal(false)
    server.kill('SIGCONT')
    await until('the connection is open', () => redis.isUp())
  })

  it('does not start with a wrong user, password or database', async () => {
    const server = await start(['--requirepass', 'sesame'])
    const at = (rest: string) => server.url.replace('redis://', rest)
    const { redis } = await open(at('redis://:sesame@'))
    expect(redis.isUp()).to.equal(true)
    const cases: readonly (readonly [string, RegExp])[] = [
      [server.url, /requires a password/],
      [at('redis://:wrong@'), /user or password is wrong/],
      [at('redis://nobody:sesame@'), /user or password is wrong/],
      [`${at('redis://:sesame@')}/99`, /no database with that number/],
    ]
    for (const [url, reason] of cases) {
      const error = await open(url).then(
        () => expect.fail(`opened ${url}`),
        (thrown: Error) => thrown,
      )
      expect(error.name).to.equal('RedisRefusal')
      expect(error.message).to.match(reason)
      expect(error.message).to.not.match(/sesame|wrong@/)
    }
  })

  it('starts if only one side uses TLS, and reports the remedy', async () => {
    const server = await start()
    const { redis, notices } = await open(server.url.replace('redis://', 'rediss://'))
    expect(redis.isUp()).to.equal(false)
    expect(notices[0]?.remedy).to.include('TLS')
  })

  it('reports a password that changed later', async () => {
    const server = await start()
    const { redis, notices } = await open(server.url)
    const { redis: other } = await open(server.url)
    await other.run((commands) => commands.configSet('requirepass', 'sesame'))
    await other
      .run((commands) => commands.sendCommand(['CLIENT', 'KILL', 'TYPE', 'normal']))
      .catch(() => undefined)
    await until('the refusal is reported', () =>
      notices.some(({ reason }) => /requires a password/.test(reason ?? '')),
    )
    expect(redis.isUp()).to.equal(false)
  })

  it('reports a full server, and continues', async () => {
    const { url } = await start(['--maxmemory', '1mb', '--maxmemory-policy', 'noeviction'])
    const { redis, notices } = await open(url)
    const fill = () => redis.run((commands) => commands.set('a', 'x'.repeat(2_000_000)))
    for (let time = 0; time < 3; time++) await timed(fill())
    expect(notices.map(({ what, reason }) => [what, reason])).to.deep.equal([
      ['refused', 'its memory is full and it evicts nothing'],
    ])
    expect(redis.isUp()).to.equal(true)
  })

  it('continues if a server evicts keys', async () => {
    const { url } = await start(['--maxmemory', '3mb', '--maxmemory-policy', 'allkeys-lru'])
    const { redis, notices } = await open(url)
    for (let index = 0; index < 40; index++) {
      await redis.run((commands) => commands.set(`a${index}`, 'x'.repeat(200_000)))
    }
    expect(await redis.run((commands) => commands.get('a0'))).to.equal(null)
    expect(notices).to.deep.equal([])
  })

  it('uses TLS, only with a valid certificate', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gateway-tls-'))
    const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')]
    const words = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1']
    const subject = ['-nodes', '-days', '2', '-subj', '/CN=localhost']
    const files = ['-keyout', key, '-out', certificate]
    execFileSync('openssl', [...words, ...subject, ...files], { stdio: 'pipe' })
    const port = await freePort()
    const tls = ['--tls-port', String(port), '--tls-auth-clients', 'no']
    await start([...tls, '--tls-cert-file', certificate, '--tls-key-file', key])
    const error = await open(`rediss://localhost:${port}`).catch((thrown: Error) => thrown)
    expect((error as Error).message).to.match(/certificate does not verify.*NODE_EXTRA_CA_CERTS/)
    rmSync(folder, { recursive: true })
  })
})
