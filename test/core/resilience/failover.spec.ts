import { expect } from 'chai'
import { GatewayError } from '../../../src/core/error.ts'
import { failover, type FailoverPolicy, type Try } from '../../../src/core/resilience/failover.ts'
import { ProviderFailure, type FailureKind } from '../../../src/core/failure.ts'
import type { Readiness, Route } from '../../../src/core/route.ts'
import { routeOf } from '../../support/route.ts'

type Failing = FailureKind | { kind: FailureKind; status?: number; retryAfterSeconds?: number }
type Options = {
  limits?: Partial<FailoverPolicy['limits']>
  endsAt?: number
  routes?: Route[]
  onSleep?: () => void
  signal?: AbortSignal
  ready?: (route: Route) => Readiness
  routesMax?: number
}

const one = routeOf('one')
const two = routeOf('two')

/** Runs failover over routes with a scripted result for each try; 'ok' is a successful answer. */
async function run(script: Record<string, (Failing | 'ok')[]>, options: Options = {}) {
  const { routes = [one, two], endsAt = 1_000_000, signal = new AbortController().signal } = options
  const tries: Try[] = []
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
  const { ready, routesMax = Infinity } = options
  const problems: string[] = []
  const admits = (_route: Route, readiness: Readiness) => {
    problems.push(...readiness.problems.map(({ message }) => message))
    return readiness.problems.length === 0
  }
  const refusal = () => new GatewayError('invalid_value', problems.join(' '))
  const outcome = await failover({
    selection: { routes, routesMax, admits, refusal },
    ready,
    attempt: answer,
    tries,
    deadline: { signal, endsAt },
    monotonic: clock,
    begunAt: now,
    report: () => undefined,
    policy,
  }).then(
    ({ value }) => value,
    (error: ProviderFailure | GatewayError) => ('kind' in error ? error.kind : error.message),
  )
  return { outcome, tries: tries.map(({ attempt }) => attempt.provider), pauses }
}

describe('failover', () => {
  describe('over routes that cannot serve the request', () => {
    const unable = (...ids: string[]) => {
      const asked: string[] = []
      const ready = ({ provider: { id } }: Route): Readiness => {
        asked.push(id)
        const problems = ids.includes(id) ? [{ param: 'n', message: `${id} cannot.` }] : []
        return { problems, warnings: [] }
      }
      return { ready, asked }
    }

    it('skips them, and prepares none after the one that answers', async () => {
      const { ready, asked } = unable('one')
      const three = routeOf('three')
      const found = await run({ two: ['ok'] }, { ready, routes: [one, two, three] })
      expect(found).to.deep.equal({ outcome: 'two', tries: ['two'], pauses: [] })
      expect(asked).to.deep.equal(['one', 'two'])
    })

    it('reports the problem of each when none is left', async () => {
      const { ready } = unable('one', 'two')
      expect(await run({}, { ready })).to.deep.equal({
        outcome: 'one cannot. two cannot.',
        tries: [],
        pauses: [],
      })
    })

    it('tries only the first suitable one when a single try is allowed', async () => {
      const { ready } = unable('one')
      const three = routeOf('three')
      const options = { ready, routes: [one, two, three], routesMax: 1 }
      expect(await run({ two: ['malformed'] }, options)).to.deep.include({
        outcome: 'malformed',
        tries: ['two'],
      })
    })
  })

  it('tries all routes before a pause, and then those that may recover', async () => {
    const script = { one: ['overloaded', 'ok'], two: ['malformed'] } satisfies Parameters<
      typeof run
    >[0]
    expect(await run(script)).to.deep.equal({
      outcome: 'one',
      tries: ['one', 'two', 'one'],
      pauses: [75],
    })
  })

  it('doubles the pause each time, up to the longest pause', async () => {
    const { pauses } = await run(
      { one: ['overloaded', 'overloaded', 'overloaded', 'ok'] },
      { routes: [one], limits: { routeTriesMax: 4, retryDelayMaxMs: 200 } },
    )
    expect(pauses).to.deep.equal([75, 150, 200])
  })

  it('waits for the time of Retry-After', async () => {
    const limited = { kind: 'rate_limited', retryAfterSeconds: 0.9 } as const
    const { outcome, pauses } = await run({ one: [limited, 'ok'] }, { routes: [one] })
    expect({ outcome, pauses }).to.deep.equal({ outcome: 'one', pauses: [900] })
  })

  it('returns the error instead of waiting too long', async () => {
    const limited = { kind: 'rate_limited', retryAfterSeconds: 20 } as const
    const { outcome, pauses } = await run({ one: [limited] }, { routes: [one] })
    expect({ outcome, pauses }).to.deep.equal({ outcome: 'rate_limited', pauses: [] })
  })

  it('does not try a route before its Retry-After while another is available', async () => {
    const limited = { kind: 'rate_limited', retryAfterSeconds: 0.9 } as const
    const { outcome, tries } = await run({ one: [limited], two: ['overloaded', 'ok'] })
    expect({ outcome, tries }).to.deep.equal({ outcome: 'two', tries: ['one', 'two', 'two'] })
  })

  it('does not pause beyond the deadline', async () => {
    const { outcome, pauses } = await run({ one: ['overloaded'] }, { routes: [one], endsAt: 70 })
    expect({ outcome, pauses }).to.deep.equal({ outcome: 'overloaded', pauses: [] })
  })

  it('ends when its caller disconnects, also during a pause', async () => {
    const controller = new AbortController()
    const left = new ProviderFailure('cancelled', 'Left.')
    const { outcome, tries } = await run(
      { one: ['overloaded'] },
      { routes: [one], signal: controller.signal, onSleep: () => controller.abort(left) },
    )
    expect({ outcome, tries }).to.deep.equal({ outcome: 'cancelled', tries: ['one'] })
  })

  it('makes no more tries than the limit', async () => {
    const always = () => Array.from({ length: 9 }, (): Failing => 'overloaded')
    const limits = { triesMax: 3, routeTriesMax: 9 }
    const { tries } = await run({ one: always(), two: always() }, { limits })
    expect(tries).to.deep.equal(['one', 'two', 'one'])
  })

  for (const kind of ['rejected', 'too_large', 'content_policy', 'cancelled'] as const) {
    it(`tries no other route after ${kind}`, async () => {
      expect((await run({ one: [kind] })).tries).to.deep.equal(['one'])
    })
  }

  it('does not retry a route that did not answer, but one that answered with a timeout', async () => {
    expect((await run({ one: ['timeout'] }, { routes: [one] })).tries).to.have.length(1)
    const late = { kind: 'timeout', status: 504 } as const
    expect((await run({ one: [late, 'ok'] }, { routes: [one] })).tries).to.have.length(2)
  })

  it('retries at once with another key', async () => {
    let spare = 2
    const route = routeOf('one', { hasSpareKey: () => spare-- > 0 })
    const { outcome, pauses } = await run(
      { one: ['rate_limited', 'credentials', 'ok'] },
      { routes: [route] },
    )
    expect({ outcome, pauses }).to.deep.equal({ outcome: 'one', pauses: [] })
  })

  const reported: [FailureKind, FailureKind, FailureKind][] = [
    ['overloaded', 'not_found', 'overloaded'],
    ['rate_limited', 'not_found', 'rate_limited'],
    ['not_found', 'not_found', 'not_found'],
    ['rate_limited', 'credentials', 'credentials'],
    ['timeout', 'rate_limited', 'rate_limited'],
  ]
  for (const [first, second, kind] of reported) {
    it(`reports ${kind} when one route was ${first} and the other ${second}`, async () => {
      const limits = { routeTriesMax: 1 }
      expect((await run({ one: [first], two: [second] }, { limits })).outcome).to.equal(kind)
    })
  }
})
