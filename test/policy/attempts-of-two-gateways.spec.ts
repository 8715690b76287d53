import { randomUUID } from 'node:crypto'
import { createClient } from '@redis/client'
import { expect } from 'chai'
import type { Attempts } from '../../src/policy/attempts.ts'
import { createAttempts } from '../../src/policy/attempts.ts'
import { createFarAttempts } from '../../src/policy/far-attempts.ts'
import { sharedRedis } from '../support/servers/redis.ts'
import type { TestGateway } from '../support/gateway.ts'
import { postForm } from '../support/oauth-client.ts'
import { programPath } from '../support/program-path.ts'
import { startTwo, type TwoProcesses } from '../support/two-processes.ts'

const ada = { email: 'ada@example.com', name: 'Ada', password: 'correct horse battery' }

describe('attempts to come in by two gateways with one Redis', () => {
  let two: TwoProcesses
  before(async function () {
    programPath('redis-server', this)
    two = await startTwo({ file: { limits: { limits_timeout_ms: 5000 } } })
    await two.a.post('/api/people', ada, { key: null })
  })
  after(() => two.stop())

  const signIn = async (gateway: TestGateway, password: string, email = ada.email) =>
    (await gateway.post('/api/sessions', { email, password }, { key: null })).status
  /** By turns at both. */
  const statuses = async (count: number, ask: (gateway: TestGateway) => Promise<number>) => {
    const told: number[] = []
    for (let one = 0; one < count; one++) told.push(await ask(one % 2 === 0 ? two.a : two.b))
    return told
  }

  it('are slowed behind as many wrong passwords as at one', async () => {
    const email = 'grace@example.com'
    const told = await statuses(7, (gateway) => signIn(gateway, 'a wrong horse', email))
    expect(told).to.deep.equal([401, 401, 401, 401, 401, 429, 429])
  })

  it('are free again at both once one let the person in', async () => {
    const wrong = (gateway: TestGateway) => signIn(gateway, 'a wrong horse')
    expect(await statuses(4, wrong)).to.deep.equal([401, 401, 401, 401])
    expect(await signIn(two.b, ada.password)).to.equal(201)
    expect(await statuses(4, wrong)).to.deep.equal([401, 401, 401, 401])
  })

  it('are slowed behind as many wrong secrets of a client as at one', async () => {
    const guess = async (gateway: TestGateway) => {
      const fields = { grant_type: 'client_credentials', client_id: 'x', client_secret: 'wrong' }
      return (await postForm(gateway, '/oauth/token', fields)).status
    }
    expect(await statuses(7, guess)).to.deep.equal([401, 401, 401, 401, 401, 429, 429])
  })

  it('are slowed behind as many new accounts as at one', async () => {
    let made = 0
    const signUp = async (gateway: TestGateway) => {
      const email = `new-${++made}@example.com`
      return (await gateway.post('/api/people', { ...ada, email }, { key: null })).status
    }
    // Ada is one of the ten.
    const told = await statuses(11, signUp)
    expect(told).to.deep.equal([...Array.from({ length: 9 }, () => 201), 429, 429])
  })
})

describe('attempts that are counted in Redis', () => {
  let far: Attempts
  let client: Awaited<ReturnType<typeof connect>>
  let isAway: boolean
  const connect = async () => {
    const { url } = await sharedRedis()
    return createClient({ url, keyPrefix: `${randomUUID()}:` }).connect()
  }
  before(async function () {
    programPath('redis-server', this)
    client = await connect()
  })
  after(() => client.destroy())
  beforeEach(() => {
    isAway = false
    const run = <T>(work: (commands: typeof client) => Promise<T>) =>
      isAway ? Promise.reject(new Error('away')) : work(client)
    const near = createAttempts({ entriesMax: 100, monotonic: () => 0 })
    far = createFarAttempts({ redis: { run }, timeoutMs: () => 5000, near })
  })

  it('wait as long as those in memory', async () => {
    const near = createAttempts({ entriesMax: 100, monotonic: () => 0 })
    for (let count = 1; count <= 20; count++) {
      for (const one of [far, near]) one.settle([['waits', 1]])
      const [there, here] = await Promise.all(
        [far, near].map((one) => one.begin([['waits', 5, 0]])),
      )
      expect(there, `after ${count}`).to.be.within(Math.max(0, here! - 900), here!)
    }
  })

  it('are counted for all of their keys or for none, and given back', async () => {
    for (let count = 0; count < 3; count++) far.settle([['full', 1]])
    expect(
      await far.begin([
        ['other', 1, 1],
        ['full', 3, 1],
      ]),
    ).to.be.greaterThan(0)
    expect(await far.begin([['other', 1, 1]])).to.equal(0)
    expect(await far.begin([['other', 1, 1]])).to.be.greaterThan(0)
    far.settle([
      ['other', -1],
      ['full', null],
      ['unknown', -1],
    ])
    expect(
      await far.begin([
        ['other', 1, 1],
        ['full', 3, 1],
        ['unknown', 1, 1],
      ]),
    ).to.equal(0)
    expect(await far.begin([['unknown', 1, 0]])).to.be.greaterThan(0)
  })

  it('tell nobody of whom they are, and are forgotten', async () => {
    await far.begin([['ada@example.com', 5, 1]])
    const keys = await client.keys('*')
    expect(keys.join(' ')).to.not.contain('ada')
    const names = keys.flatMap((key) => /(?<=:)attempts:.+/.exec(key) ?? [])
    expect(names).to.not.be.empty
    for (const name of names) {
      expect(await client.pTTL(name)).to.be.within(1, 900_000)
    }
  })

  it('are counted here while Redis is away', async () => {
    isAway = true
    expect(await far.begin([['away', 2, 1]])).to.equal(0)
    far.settle([['away', 1]])
    await Promise.resolve()
    expect(await far.begin([['away', 2, 1]])).to.be.greaterThan(0)
    isAway = false
    expect(await far.begin([['away', 2, 1]])).to.equal(0)
  })
})
