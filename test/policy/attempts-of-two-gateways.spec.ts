import { expect } from 'chai'
import { createSignInAttempts } from '../../src/policy/attempts.ts'
import { attemptsKeptMs } from '../../src/policy/counts.ts'
import { countedIn, startReplicas, type TestReplica } from '../support/far-limits.ts'
import type { TestGateway } from '../support/gateway.ts'
import type { TestLimits } from '../support/limits.ts'
import { postForm } from '../support/oauth-client.ts'
import { programPath } from '../support/program-path.ts'
import { startRedis, type TestRedis } from '../support/servers/redis.ts'
import { startTwo, type TwoProcesses } from '../support/two-processes.ts'
import { until } from '../support/until.ts'

const ada = { email: 'ada@example.com', name: 'Ada', password: 'correct horse battery' }

describe('attempts to sign in at two gateways with one Redis', () => {
  let two: TwoProcesses
  before(async function () {
    programPath('redis-server', this)
    two = await startTwo({
      file: { limits: { limits_timeout_ms: 5000, oauth_registrations_per_hour_max: 3 } },
    })
    await two.a.post('/api/people', ada, { key: null })
  })
  after(() => two.stop())

  const signIn = async (gateway: TestGateway, password: string, email = ada.email) =>
    (await gateway.post('/api/sessions', { email, password }, { key: null })).status
  /** The statuses of `count` requests, sent to both gateways in turn. */
  const statuses = async (count: number, ask: (gateway: TestGateway) => Promise<number>) => {
    const codes: number[] = []
    for (let one = 0; one < count; one++) codes.push(await ask(one % 2 === 0 ? two.a : two.b))
    return codes
  }

  it('are slowed after as many wrong passwords as at one gateway', async () => {
    const email = 'grace@example.com'
    const codes = await statuses(7, (gateway) => signIn(gateway, 'a wrong horse', email))
    expect(codes).to.deep.equal([401, 401, 401, 401, 401, 429, 429])
  })

  it('are allowed again at both once one accepts the password', async () => {
    const wrong = (gateway: TestGateway) => signIn(gateway, 'a wrong horse')
    expect(await statuses(4, wrong)).to.deep.equal([401, 401, 401, 401])
    expect(await signIn(two.b, ada.password)).to.equal(201)
    expect(await statuses(4, wrong)).to.deep.equal([401, 401, 401, 401])
  })

  it('are slowed after as many wrong client secrets as at one gateway', async () => {
    const guess = async (gateway: TestGateway) => {
      const fields = { grant_type: 'client_credentials', client_id: 'x', client_secret: 'wrong' }
      return (await postForm(gateway, '/oauth/token', fields)).status
    }
    expect(await statuses(7, guess)).to.deep.equal([401, 401, 401, 401, 401, 429, 429])
  })

  it('are refused after as many client registrations as at one gateway', async () => {
    const register = async (gateway: TestGateway) => {
      const answer = await gateway.post(
        '/oauth/register',
        { redirect_uris: ['http://127.0.0.1/callback'] },
        { key: null },
      )
      if (answer.status === 429) {
        expect(Number(answer.headers.get('retry-after'))).to.be.within(3500, 3600)
      }
      return answer.status
    }
    expect(await statuses(5, register)).to.deep.equal([201, 201, 201, 429, 429])
  })

  it('are slowed after as many new accounts as at one gateway', async () => {
    let made = 0
    const signUp = async (gateway: TestGateway) => {
      const email = `new-${++made}@example.com`
      return (await gateway.post('/api/people', { ...ada, email }, { key: null })).status
    }
    // Ada's account counts as one of the ten sign-ups.
    const codes = await statuses(11, signUp)
    expect(codes).to.deep.equal([...Array.from({ length: 9 }, () => 201), 429, 429])
  })
})

for (const [place, start] of Object.entries(countedIn)) {
  describe(`attempts that are counted in ${place}`, () => {
    let limits: TestLimits
    before(function () {
      if (place === 'Redis') programPath('redis-server', this)
    })
    beforeEach(async () => {
      limits = await start()
    })
    afterEach(() => limits.stop())

    it('wait twice as long each time, up to a minute, and are dropped after 15', async () => {
      const { counts } = limits
      const attempt = () => counts.attempt([['guessed', 2]])
      const waits: number[] = []
      expect([await attempt(), await attempt()]).to.deep.equal([0, 0])
      for (let turn = 0; turn < 8; turn++) {
        const waitMs = await attempt()
        waits.push(Math.ceil(waitMs / 1000))
        await limits.pass(waitMs)
        expect(await attempt()).to.equal(0)
      }
      expect(waits).to.deep.equal([1, 2, 4, 8, 16, 32, 60, 60])
      await limits.pass(attemptsKeptMs)
      // Checked in memory only: Redis expires keys by its own clock, which tests cannot advance.
      if (place === 'memory') expect([await attempt(), await attempt()]).to.deep.equal([0, 0])
    })

    it('are counted for all of their keys or none, and can be undone', async () => {
      const { counts } = limits
      for (let count = 0; count < 3; count++) await counts.attempt([['full', 3]])
      const both = [
        ['other', 1],
        ['full', 3],
      ] as const
      expect(await counts.attempt(both)).to.be.greaterThan(0)
      expect(await counts.attempt([['other', 1]])).to.equal(0)
      expect(await counts.attempt([['other', 1]])).to.be.greaterThan(0)
      counts.settleAttempt([
        ['other', 'take_back'],
        ['full', 'forget'],
        ['unknown', 'take_back'],
      ])
      expect(await counts.attempt([...both, ['unknown', 1]])).to.equal(0)
      expect(await counts.attempt([['unknown', 1]])).to.be.greaterThan(0)
    })
  })
}

describe('attempts in Redis', () => {
  let redis: TestRedis
  let replica: TestReplica
  beforeEach(async function () {
    programPath('redis-server', this)
    redis = await startRedis()
    replica = (await startReplicas(1, { redis }))[0]!
  })
  afterEach(async () => {
    await replica.stop()
    await redis.stop()
  })

  it('contain no person and no address, and expire', async () => {
    const { begin } = createSignInAttempts(replica.counts)
    await begin({ origin: '203.0.113.7', email: ada.email })
    const names = (await replica.command(['KEYS', '*'])) as string[]
    expect(names.join(' ')).to.not.match(/ada|203/)
    const tried = names.filter((name) => name.includes(':attempts:'))
    expect(tried).to.have.length(3)
    for (const name of tried) {
      expect(await replica.command(['PTTL', name])).to.be.within(1, attemptsKeptMs)
    }
  })

  it('are counted in the process while Redis is unavailable', async () => {
    const { counts } = replica
    redis.kill('SIGKILL')
    expect(await counts.attempt([['away', 1]])).to.equal(0)
    expect(await counts.attempt([['away', 1]])).to.be.greaterThan(0)
    await redis.restart()
    await until('it is used again', () => replica.modes.at(-1) === 'together')
    expect(await counts.attempt([['away', 1]])).to.equal(0)
  })
})
