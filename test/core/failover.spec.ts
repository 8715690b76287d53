import { expect } from 'chai'
import { failover, type Attempt, type FailoverPolicy } from '../../src/core/failover.ts'
import { ProviderFailure, type FailureKind } from '../../src/core/failure.ts'
import type { Route } from '../../src/core/route.ts'
import { routeOf } from '../support/route.ts'

type Failing = FailureKind | { kind: FailureKind; status?: number; retryAfterSeconds?: number }
type Options = {
  limits?: Partial<FailoverPolicy['limits']>
  endsAt?: number
  routes?: Route[]
  onSleep?: () => void
  signal?: AbortSignal
}

const one = routeOf('one')
const two = routeOf('two')

/** Plays what each route does, try by try; 'ok' answers. */
async function run(script: Record<string, (Failing | 'ok')[]>, options: Options = {}) {
  const { routes = [one, two], endsAt = 1_000_000, signal = new AbortController().signal } = options
  const attempts: Attempt[] = []
  const pauses: number[] = []
  let now = 0
  const answer = async ({ provider }: Route) => {
    const next = script[provider.id]?.shift()
    if (next === undefined) throw new Error(`${provider.id} was asked too often.`)
    if (next === 'ok') return provider.id
    const { kind, ...rest } = typeof next === 'string' ? { kind: next } : next
    throw new ProviderFailure(kind, 'No.', rest)
  }
  const policy: FailoverPolicy = {
    limits: {
      triesMax: 8,
      routeTriesMax: 3,
      retryDelayMs: 100,
      retryDelayMaxMs: 1000,
      ...options.limits,
    },
    health: { began: () => undefined, ended: () => undefined },
    sleep: (delayMs) => {
      pauses.push(delayMs)
      now += delayMs
      options.onSleep?.()
      return Promise.resolve()
    },
    random: () => 0.5,
  }
  const clock = () => now
  const outcome = await failover({
    routes,
    attempt: answer,
    attempts,
    deadline: { signal, endsAt },
    clock,
    report: () => undefined,
    policy,
  }).then(
    ({ value }) => value,
    (error: ProviderFailure) => error.kind,
  )
  return { outcome, tries: attempts.map(({ provider }) => provider), pauses }
}

describe('failing over', () => {
  it('goes through all routes before it pauses, and then through those that may do better', async () => {
    const script = { one: ['overloaded', 'ok'], two: ['malformed'] } satisfies Parameters<
      typeof run
    >[0]
    expect(await run(script)).to.deep.equal({
      outcome: 'one',
      tries: ['one', 'two', 'one'],
      pauses: [75],
    })
  })

  it('pauses twice as long each time, within the longest pause', async () => {
    const { pauses } = await run(
      { one: ['overloaded', 'overloaded', 'overloaded', 'ok'] },
      { routes: [one], limits: { routeTriesMax: 4, retryDelayMaxMs: 200 } },
    )
    expect(pauses).to.deep.equal([75, 150, 200])
  })

  it('waits for as long as it is asked to', async () => {
    const limited = { kind: 'rate_limited', retryAfterSeconds: 0.9 } as const
    const { outcome, pauses } = await run({ one: [limited, 'ok'] }, { routes: [one] })
    expect({ outcome, pauses }).to.deep.equal({ outcome: 'one', pauses: [900] })
  })

  it('tells the caller instead of waiting for too long', async () => {
    const limited = { kind: 'rate_limited', retryAfterSeconds: 20 } as const
    const { outcome, pauses } = await run({ one: [limited] }, { routes: [one] })
    expect({ outcome, pauses }).to.deep.equal({ outcome: 'rate_limited', pauses: [] })
  })

  it('does not ask a route before its time when another may be asked', async () => {
    const limited = { kind: 'rate_limited', retryAfterSeconds: 0.9 } as const
    const { outcome, tries } = await run({ one: [limited], two: ['overloaded', 'ok'] })
    expect({ outcome, tries }).to.deep.equal({ outcome: 'two', tries: ['one', 'two', 'two'] })
  })

  it('does not pause beyond the deadline', async () => {
    const { outcome, pauses } = await run({ one: ['overloaded'] }, { routes: [one], endsAt: 70 })
    expect({ outcome, pauses }).to.deep.equal({ outcome: 'overloaded', pauses: [] })
  })

  it('ends with its caller, also in a pause', async () => {
    const controller = new AbortController()
    const left = new ProviderFailure('cancelled', 'Left.')
    const { outcome, tries } = await run(
      { one: ['overloaded'] },
      { routes: [one], signal: controller.signal, onSleep: () => controller.abort(left) },
    )
    expect({ outcome, tries }).to.deep.equal({ outcome: 'cancelled', tries: ['one'] })
  })

  it('tries no more often than it may', async () => {
    const always = () => Array.from({ length: 9 }, (): Failing => 'overloaded')
    const limits = { triesMax: 3, routeTriesMax: 9 }
    const { tries } = await run({ one: always(), two: always() }, { limits })
    expect(tries).to.deep.equal(['one', 'two', 'one'])
  })

  for (const kind of ['rejected', 'too_large', 'content_policy', 'cancelled'] as const) {
    it(`asks nobody else what is ${kind}`, async () => {
      expect((await run({ one: [kind] })).tries).to.deep.equal(['one'])
    })
  }

  it('does not ask who was silent again, but who said that he was late', async () => {
    expect((await run({ one: ['timeout'] }, { routes: [one] })).tries).to.have.length(1)
    const late = { kind: 'timeout', status: 504 } as const
    expect((await run({ one: [late, 'ok'] }, { routes: [one] })).tries).to.have.length(2)
  })

  it('asks again at once with another key', async () => {
    let spare = 2
    const route = routeOf('one', { hasSpareKey: () => spare-- > 0 })
    const { outcome, pauses } = await run(
      { one: ['rate_limited', 'credentials', 'ok'] },
      { routes: [route] },
    )
    expect({ outcome, pauses }).to.deep.equal({ outcome: 'one', pauses: [] })
  })

  const told: [FailureKind, FailureKind, FailureKind][] = [
    ['overloaded', 'not_found', 'overloaded'],
    ['rate_limited', 'not_found', 'rate_limited'],
    ['not_found', 'not_found', 'not_found'],
    ['rate_limited', 'credentials', 'credentials'],
    ['timeout', 'rate_limited', 'rate_limited'],
  ]
  for (const [first, second, kind] of told) {
    it(`tells of ${kind} when one was ${first} and the other ${second}`, async () => {
      const limits = { routeTriesMax: 1 }
      expect((await run({ one: [first], two: [second] }, { limits })).outcome).to.equal(kind)
    })
  }
})
