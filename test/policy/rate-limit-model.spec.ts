import { expect } from 'chai'
import fc from 'fast-check'
import type { Caller, UsageLimits } from '../../src/core/caller.ts'
import type { Admission, Used } from '../../src/core/limits.ts'
import { countedIn } from '../support/far-limits.ts'
import { callerWith, demandOf, refusal, type TestLimits } from '../support/limits.ts'

describe('the limits of an account and two keys', () => {
  type Act =
    | { act: 'call'; key: 0 | 1; images: number; tokens: number }
    | { act: 'end'; call: number; used: Used | undefined }
    | { act: 'pass'; ms: number }
    | { act: 'jump'; ms: number }
    | { act: 'change'; owner: 0 | 1 | 2; limits: UsageLimits }

  const few = fc.nat(4)
  const asLimit = fc.option(fc.nat(8))
  const asLimits = fc.record<UsageLimits>({
    requestsPerMinute: asLimit,
    tokensPerMinute: asLimit,
    imagesPerMinute: asLimit,
    concurrency: asLimit,
  })
  const asUsed = fc.option(fc.record({ inputTokens: few, outputTokens: few, images: few }), {
    nil: undefined,
  })
  /** Redis uses the server's clock, so all its steps must be long compared with the test's duration. */
  const passes = { memory: [1, 1000, 30_000, 59_999, 60_000], elsewhere: [2000, 30_000, 60_000] }
  const actsIn = (place: keyof typeof passes): fc.Arbitrary<Act> =>
    fc.oneof(
      {
        weight: 6,
        arbitrary: fc.record({
          act: fc.constant('call' as const),
          key: fc.constantFrom(0, 1),
          images: few,
          tokens: few,
        }),
      },
      {
        weight: 4,
        arbitrary: fc.record({ act: fc.constant('end' as const), call: fc.nat(30), used: asUsed }),
      },
      {
        weight: 2,
        arbitrary: fc.record({
          act: fc.constant('pass' as const),
          ms: fc.constantFrom(...passes[place]),
        }),
      },
      {
        weight: 1,
        arbitrary: fc.record({
          act: fc.constant('jump' as const),
          ms: fc.constantFrom(-3_600_000, 3_600_000),
        }),
      },
      {
        weight: 1,
        arbitrary: fc.record({
          act: fc.constant('change' as const),
          owner: fc.constantFrom(0, 1, 2),
          limits: asLimits,
        }),
      },
    )

  const kinds = ['requests', 'tokens', 'images'] as const
  type Kind = (typeof kinds)[number]
  const limitIn = (limits: UsageLimits, kind: Kind) => limits[`${kind}PerMinute`]
  const amounts = {
    requests: () => 1,
    tokens: (one: Used) => one.inputTokens + one.outputTokens,
    images: (one: Used) => one.images,
  }

  /** A reference model of the limits: the usage of each caller in each window. */
  class Model {
    now = 0
    limits: UsageLimits[]
    windows = new Map<string, { used: number; endsAt: number }>()
    running = [0, 0, 0]

    constructor(limits: UsageLimits[]) {
      this.limits = limits
    }
    open(name: string) {
      const window = this.windows.get(name)
      return window !== undefined && window.endsAt > this.now ? window : undefined
    }
    add(name: string, amount: number) {
      if (amount === 0) return undefined
      const window = this.open(name) ?? { used: 0, endsAt: this.now + 60_000 }
      window.used += amount
      this.windows.set(name, window)
      return window
    }
    /** Returns the function that ends the call; undefined when the call is refused. */
    call(key: 0 | 1, need: Used) {
      const owners = [0, key + 1]
      const fits = owners.every((owner) => {
        const { concurrency } = this.limits[owner]!
        if (concurrency !== null && this.running[owner]! >= concurrency) return false
        return kinds.every((kind) => {
          const limit = limitIn(this.limits[owner]!, kind)
          const amount = amounts[kind](need)
          const used = this.open(kind + owner)?.used ?? 0
          return limit === null || amount === 0 || used + amount <= limit
        })
      })
      if (!fits) return undefined
      const counted = owners.filter((owner) => this.limits[owner]!.concurrency !== null)
      for (const owner of counted) this.running[owner]!++
      const taken = owners.flatMap((owner) =>
        kinds
          .filter((kind) => limitIn(this.limits[owner]!, kind) !== null)
          .map((kind) => ({ kind, owner, window: this.add(kind + owner, amounts[kind](need)) })),
      )
      let hasEnded = false
      return (used: Used | undefined) => {
        if (hasEnded) return
        hasEnded = true
        for (const owner of counted) this.running[owner]!--
        for (const { kind, owner, window } of used === undefined ? [] : taken) {
          const more = amounts[kind](used!) - amounts[kind](need)
          if (more > 0) this.add(kind + owner, more)
          else if (window !== undefined && window === this.open(kind + owner)) window.used += more
        }
      }
    }
    left(key: 0 | 1): number[] {
      const owners = [0, key + 1]
      const ofKind = kinds.flatMap((kind) =>
        owners.map((owner) => [
          limitIn(this.limits[owner]!, kind),
          this.open(kind + owner)?.used ?? 0,
        ]),
      )
      const atOnce = owners.map((owner) => [this.limits[owner]!.concurrency, this.running[owner]!])
      return [...ofKind, ...atOnce].flatMap(([limit, used]) =>
        limit === null ? [] : [Math.max(0, limit! - used!)],
      )
    }
  }

  const realNow = Date.now
  afterEach(() => {
    Date.now = realNow
  })

  for (const [place, start] of Object.entries(countedIn)) {
    it(`are enforced in ${place} for any sequence of events and any change of the system clock`, async () => {
      const asAct = actsIn(place === 'memory' ? place : 'elsewhere')
      const property = fc.asyncProperty(
        fc.tuple(asLimits, asLimits, asLimits),
        fc.array(asAct, { minLength: 10, maxLength: 60 }),
        async (limits, acts) => {
          const counted = await start()
          try {
            await play(counted, [...limits], acts)
          } finally {
            await counted.stop()
          }
        },
      )
      const runs = place === 'memory' ? { numRuns: 1000 } : { numRuns: 25, endOnFailure: true }
      await fc.assert(property, runs)
    })
  }

  async function play(counted: TestLimits, limits: UsageLimits[], acts: readonly Act[]) {
    const model = new Model(limits)
    let wall = realNow()
    Date.now = () => wall
    // New objects on each use, because each look-up of a key returns its limits anew.
    const callers = () =>
      [0, 1].map((key) => callerWith(model.limits[key + 1]!, model.limits[0], String(key)))
    let [one, two] = callers()
    const calls: { admitted: Promise<Admission>; end: (used: Used | undefined) => void }[] = []
    const left = async (caller: Caller) =>
      (await counted.look(caller)).map(({ remaining }) => remaining)
    for (const act of acts) {
      if (act.act === 'call') {
        const caller = (act.key === 0 ? one : two)!
        const expected = model.call(act.key, {
          inputTokens: act.tokens,
          outputTokens: 0,
          images: act.images,
        })
        const admitted = counted.admit(caller, demandOf(act.images, act.tokens))
        if (expected === undefined) await refusal(admitted)
        else calls.push({ admitted, end: expected })
      } else if (act.act === 'end' && calls.length > 0) {
        const { admitted, end } = calls[act.call % calls.length]!
        ;(await admitted).end(act.used)
        end(act.used)
      } else if (act.act === 'pass') {
        await counted.pass(act.ms)
        model.now += act.ms
        wall += act.ms
      } else if (act.act === 'jump') {
        wall += act.ms
      } else if (act.act === 'change') {
        model.limits[act.owner] = act.limits
        ;[one, two] = callers()
      }
      expect(await left(one!)).to.have.members(model.left(0))
      expect(await left(two!)).to.have.members(model.left(1))
      expect(counted.size?.() ?? 0).to.be.at.most(12)
    }
    await Promise.all(calls.map(({ admitted }) => admitted))
    expect(counted.faults).to.deep.equal([])
  }
})
