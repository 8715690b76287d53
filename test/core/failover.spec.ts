import { expect } from 'chai'
import fc from 'fast-check'
import { failover, type Attempt } from '../../src/core/failover.ts'
import { errorAfter, ProviderFailure, type FailureKind } from '../../src/core/failure.ts'
import type { Route } from '../../src/core/route.ts'

type Outcome = 'ok' | FailureKind
type Options = {
  triesMax?: number
  routeTriesMax?: number
  retryAfterSeconds?: number
  endsAt?: number
  leaveAfter?: number
}

const limits = { triesMax: 6, routeTriesMax: 1, retryDelayMs: 100, retryDelayMaxMs: 2000 }
const goOn: FailureKind[] = [
  'unreachable',
  'timeout',
  'overloaded',
  'rate_limited',
  'out_of_credit',
  'credentials',
  'not_found',
  'malformed',
]
const stop: FailureKind[] = ['rejected', 'too_large', 'content_policy', 'cancelled']
const outcome = fc.constantFrom<Outcome>('ok', ...goOn, ...stop)

const routeOf = (id: string): Route => ({
  model: undefined as never,
  provider: { id },
  upstreamModel: `${id}-model`,
})

/** Plays the outcomes of each route in turn, the last one again and again. */
async function play(scripts: readonly (readonly Outcome[])[], options: Options = {}) {
  const { retryAfterSeconds, endsAt = 1e9, leaveAfter = Infinity, ...rest } = options
  const leaving = new AbortController()
  const attempts: Attempt[] = []
  const reported: string[] = []
  const pauses: number[] = []
  const health: string[] = []
  const tries = new Map<Route, number>()
  let now = 0
  let made = 0
  const result = await failover<string>({
    routes: scripts.map((_, index) => routeOf(`r${index}`)),
    attempt: async (route) => {
      const turn = tries.get(route) ?? 0
      tries.set(route, turn + 1)
      const script = scripts[Number(route.provider.id.slice(1))]!
      now += 5
      if (++made >= leaveAfter) leaving.abort(new ProviderFailure('cancelled', 'left'))
      const next = script[Math.min(turn, script.length - 1)]!
      if (next === 'ok') return route.provider.id
      throw new ProviderFailure(next, next, { status: 599, retryAfterSeconds })
    },
    attempts,
    deadline: { signal: leaving.signal, endsAt },
    clock: () => now,
    report: (_route, { outcome }) => reported.push(outcome),
    policy: {
      limits: { ...limits, ...rest },
      health: {
        began: ({ provider }) => health.push(`${provider.id} began`),
        ended: ({ provider }, failure) => health.push(`${provider.id} ${failure?.kind ?? 'ok'}`),
      },
      sleep: async (delayMs) => {
        pauses.push(delayMs)
        now += delayMs
      },
      random: () => 0.5,
    },
  }).then(
    ({ value, route }) => ({ value, by: route.provider.id }),
    (error: unknown) => ({ error: error as Error }),
  )
  const outcomes = attempts.map((one) => `${one.provider} ${one.outcome}`)
  return { result, attempts, outcomes, reported, pauses, health, now }
}

describe('failing over', () => {
  it('answers from the first route that can, and asks no other after it', () =>
    fc.assert(
      fc.asyncProperty(fc.array(outcome, { minLength: 1, maxLength: 6 }), async (list) => {
        const { result, outcomes } = await play(list.map((one) => [one]))
        const end = list.findIndex((one) => one === 'ok' || stop.includes(one as FailureKind))
        const asked = end < 0 ? list : list.slice(0, end + 1)
        expect(outcomes).to.deep.equal(asked.map((one, index) => `r${index} ${one}`))
        if (asked.at(-1) === 'ok') {
          expect(result).to.deep.equal({ value: `r${end}`, by: `r${end}` })
        } else expect(result).to.have.property('error').that.is.instanceOf(ProviderFailure)
      }),
    ))

  for (const kind of goOn) {
    it(`goes on after ${kind}`, async () => {
      const { result } = await play([[kind], ['ok']])
      expect(result).to.have.property('by', 'r1')
    })
  }

  for (const kind of stop) {
    it(`stops at ${kind}, which another route would answer alike`, async () => {
      const { result, outcomes } = await play([[kind], ['ok']])
      expect(result).to.have.nested.property('error.kind', kind)
      expect(outcomes).to.have.length(1)
    })
  }

  it('tells of every try with its time, also of the one that answered', async () => {
    const { attempts, reported, health } = await play([['overloaded'], ['ok']])
    expect(attempts).to.deep.equal([
      {
        provider: 'r0',
        upstreamModel: 'r0-model',
        outcome: 'overloaded',
        status: 599,
        durationMs: 5,
      },
      { provider: 'r1', upstreamModel: 'r1-model', outcome: 'ok', durationMs: 5 },
    ])
    expect(reported).to.deep.equal(['overloaded', 'ok'])
    expect(health).to.deep.equal(['r0 began', 'r0 overloaded', 'r1 began', 'r1 ok'])
  })

  it('lets a bug of ours through as it is', async () => {
    const bug = new TypeError('a bug')
    const run = failover({
      routes: [routeOf('a'), routeOf('b')],
      attempt: () => Promise.reject(bug),
      attempts: [],
      deadline: { signal: new AbortController().signal, endsAt: 1e9 },
      clock: () => 0,
      report: () => undefined,
      policy: {
        limits,
        health: { began: () => undefined, ended: () => undefined },
        sleep: async () => undefined,
        random: () => 0,
      },
    })
    expect(await run.catch((error: unknown) => error)).to.equal(bug)
  })

  it('asks nobody any more once the caller has left', async () => {
    const { outcomes } = await play([['unreachable'], ['ok']], { leaveAfter: 1 })
    expect(outcomes).to.deep.equal(['r0 unreachable'])
  })
})

describe('trying again', () => {
  it('comes back to the routes that may do better, after a pause', async () => {
    const scripts: Outcome[][] = [['overloaded', 'ok'], ['credentials']]
    const { result, outcomes, pauses } = await play(scripts, { routeTriesMax: 2 })
    expect(outcomes).to.deep.equal(['r0 overloaded', 'r1 credentials', 'r0 ok'])
    expect(result).to.have.property('by', 'r0')
    expect(pauses).to.deep.equal([75])
  })

  it('waits longer each time, up to the limit', async () => {
    const { pauses } = await play([['unreachable']], { routeTriesMax: 8, triesMax: 8 })
    expect(pauses).to.deep.equal([75, 150, 300, 600, 1200, 2000, 2000])
  })

  it('waits as long as the upstream asks', async () => {
    const scripts: Outcome[][] = [['rate_limited', 'ok']]
    const { pauses } = await play(scripts, { routeTriesMax: 2, retryAfterSeconds: 1.5 })
    expect(pauses).to.deep.equal([1500])
  })

  it('does not wait for longer than the limit, and says how long it would take', async () => {
    const scripts: Outcome[][] = [['rate_limited', 'ok']]
    const { result, pauses } = await play(scripts, { routeTriesMax: 2, retryAfterSeconds: 30 })
    expect(pauses).to.deep.equal([])
    expect(result).to.have.nested.property('error.retryAfterSeconds', 30)
  })

  it('does not begin a pause that the deadline would end', async () => {
    const { outcomes } = await play([['overloaded', 'ok']], { routeTriesMax: 2, endsAt: 80 })
    expect(outcomes).to.deep.equal(['r0 overloaded'])
  })

  it('never makes more tries than it may, of all routes and of each', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(outcome, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 4 }),
        fc.integer({ min: 1, max: 8 }),
        fc.integer({ min: 1, max: 4 }),
        async (scripts, triesMax, routeTriesMax) => {
          const { attempts } = await play(scripts, { triesMax, routeTriesMax })
          expect(attempts.length).to.be.within(1, triesMax)
          const each = Map.groupBy(attempts, ({ provider }) => provider)
          for (const tries of each.values()) expect(tries.length).to.be.at.most(routeTriesMax)
        },
      ),
    ))
})

describe('what a caller is told when no route is left', () => {
  for (const { kind, code, status } of [
    { kind: 'unreachable', code: 'provider_error', status: 502 },
    { kind: 'credentials', code: 'provider_error', status: 502 },
    { kind: 'out_of_credit', code: 'provider_error', status: 502 },
    { kind: 'malformed', code: 'provider_error', status: 502 },
    { kind: 'timeout', code: 'timeout', status: 504 },
    { kind: 'rate_limited', code: 'rate_limit_exceeded', status: 429 },
    { kind: 'not_found', code: 'model_not_found', status: 404 },
    { kind: 'rejected', code: 'invalid_value', status: 400 },
    { kind: 'too_large', code: 'request_too_large', status: 413 },
    { kind: 'content_policy', code: 'content_policy_violation', status: 400 },
  ] as const) {
    it(`is ${status} ${code} after ${kind}`, () => {
      const failure = new ProviderFailure(kind, 'what the vendor said')
      const error = errorAfter(failure, 1)
      expect(error).to.include({ code, status, cause: failure })
      const theirFault = ['rejected', 'too_large', 'content_policy'].includes(kind)
      expect(error.message === 'what the vendor said').to.equal(theirFault)
    })
  }

  it('says that all of several failed', () => {
    const error = errorAfter(new ProviderFailure('overloaded', ''), 3)
    expect(error).to.include({ code: 'all_providers_failed', status: 502 })
    expect(error.message).to.include('3')
  })

  it('says when to come back', () => {
    const failure = new ProviderFailure('rate_limited', '', { retryAfterSeconds: 12.2 })
    expect(errorAfter(failure, 1).headers).to.have.property('retry-after', '13')
  })
})
