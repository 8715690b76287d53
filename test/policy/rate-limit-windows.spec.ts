import { expect } from 'chai'
import fc from 'fast-check'
import type { Caller, UsageLimits } from '../../src/core/caller.ts'
import { GatewayError } from '../../src/core/error.ts'
import type { Admission, Demand, LimitState, Used } from '../../src/core/limits.ts'
import { RateLimit } from '../../src/policy/rate-limit.ts'
import { callerOf, unlimited } from '../support/callers.ts'

const none = unlimited('').limits
const demandOf = (images = 0, tokens = 0): Demand => ({
  images,
  tokens: () => ({ certain: tokens, assumed: 0 }),
})
const nothing: Used = { inputTokens: 0, outputTokens: 0, images: 0 }

/** Limits whose time passes when the test says so. */
function limitsAt(defaults: UsageLimits = none) {
  const time = { now: 0 }
  const faults: unknown[] = []
  const rateLimit = new RateLimit({
    defaults: () => defaults,
    monotonic: () => time.now,
    onFault: (fault) => void faults.push(fault),
  })
  return { rateLimit, time, faults }
}

function callerWith(
  key: Partial<UsageLimits>,
  account: Partial<UsageLimits> = {},
  id = '1',
): Caller {
  return callerOf({
    keyId: `key_${id}`,
    allowances: [
      { ...unlimited('acc_1'), limits: { ...none, ...account } },
      { ...unlimited(`key_${id}`), limits: { ...none, ...key } },
    ],
  })
}

async function refusal(admitted: Promise<unknown>): Promise<GatewayError> {
  const error: unknown = await admitted.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expect(error).to.be.instanceOf(GatewayError)
  return error as GatewayError
}

describe('a refused call', () => {
  it('is counted by none of the limits, whichever refuses it', async () => {
    const { rateLimit } = limitsAt()
    const caller = callerWith({ tokensPerMinute: 100 }, { requestsPerMinute: 5, concurrency: 5 })
    const before = rateLimit.look(caller)
    const error = await refusal(rateLimit.admit(caller, demandOf(0, 101)))
    expect(error.progress.limits).to.deep.equal(before)
    expect(rateLimit.look(caller)).to.deep.equal(before)
  })

  it('keeps nobody out who comes in the same turn', async () => {
    const { rateLimit } = limitsAt()
    const caller = callerWith({ tokensPerMinute: 100 }, { requestsPerMinute: 1 })
    const large = refusal(rateLimit.admit(caller, demandOf(0, 200)))
    const small = rateLimit.admit(caller, demandOf(0, 100))
    await Promise.all([large, small])
  })

  for (const [what, key, demand, message] of [
    [
      'a limit of 0',
      { requestsPerMinute: 0 },
      demandOf(),
      /may make 0 requests a minute: the limit is 0\. Who manages the keys of the account can change it\.$/,
    ],
    [
      'a limit of 0 at once',
      { concurrency: 0 },
      demandOf(),
      /may have 0 calls at once: the limit is 0\./,
    ],
    [
      'more images than the limit',
      { imagesPerMinute: 3 },
      demandOf(4),
      /may make 3 images a minute, and this call alone asks for 4\. Waiting does not help: ask for fewer with 'n'\.$/,
    ],
    [
      'more tokens than the limit',
      { tokensPerMinute: 1 },
      demandOf(0, 9),
      /may use 1 token a minute, and this call alone may use 9\..*max_tokens\.$/,
    ],
  ] as const) {
    it(`says that waiting does not help with ${what}`, async () => {
      const { rateLimit } = limitsAt()
      const error = await refusal(rateLimit.admit(callerWith(key), demand))
      expect(error.message).to.match(message)
      expect(error.retryAfterSeconds).to.equal(60)
    })
  }

  it('says what is left, what it asks for and when to come back', async () => {
    const { rateLimit, time } = limitsAt()
    const caller = callerWith({}, { imagesPerMinute: 5 })
    await rateLimit.admit(caller, demandOf(3))
    time.now = 18_000
    const error = await refusal(rateLimit.admit(caller, demandOf(4)))
    expect(error.message).to.equal(
      "This account may make 5 images a minute; 2 are left, and this call asks for 4. Try again in 42 s, or ask for fewer with 'n'.",
    )
    expect(error.retryAfterSeconds).to.equal(42)
  })

  it('may come back at once when a running call has ended', async () => {
    const { rateLimit } = limitsAt()
    const caller = callerWith({ concurrency: 1 })
    const running = await rateLimit.admit(caller, demandOf())
    const error = await refusal(rateLimit.admit(caller, demandOf()))
    expect(error.message).to.equal(
      'This API key may have 1 call at once. Try again when one of them has ended.',
    )
    expect(error.retryAfterSeconds).to.equal(1)
    running.end(nothing)
    await rateLimit.admit(caller, demandOf())
  })
})

describe('a window', () => {
  const leftOf = (states: readonly LimitState[]) => states.map(({ remaining }) => remaining)

  it('takes what is counted to a limit that was changed', async () => {
    const { rateLimit } = limitsAt()
    for (let turn = 0; turn < 4; turn++) {
      await rateLimit.admit(callerWith({ requestsPerMinute: 5 }), demandOf())
    }
    await refusal(rateLimit.admit(callerWith({ requestsPerMinute: 4 }), demandOf()))
    expect(leftOf(rateLimit.look(callerWith({ requestsPerMinute: 10 })))).to.deep.equal([6])
  })

  it('gets nothing back of what another one counted', async () => {
    const { rateLimit, time } = limitsAt()
    const caller = callerWith({ tokensPerMinute: 100 })
    const early = await rateLimit.admit(caller, demandOf(0, 100))
    time.now = 60_000
    await rateLimit.admit(caller, demandOf(0, 60))
    early.end(nothing)
    expect(leftOf(rateLimit.look(caller))).to.deep.equal([40])
  })

  it('counts what was used beyond what was asked for, also when it began later', async () => {
    const { rateLimit, time, faults } = limitsAt()
    const caller = callerWith({ tokensPerMinute: 100 })
    const long = await rateLimit.admit(caller, demandOf(0, 10))
    time.now = 90_000
    long.end({ inputTokens: 10, outputTokens: 30, images: 0 })
    expect(leftOf(rateLimit.look(caller))).to.deep.equal([70])
    expect(faults).to.deep.equal([])
  })

  it('lets a call of open length in while it has room', async () => {
    const { rateLimit } = limitsAt()
    const open = { images: 0, tokens: () => ({ certain: 10, assumed: 1000 }) }
    const caller = callerWith({ tokensPerMinute: 100 })
    const { end } = await rateLimit.admit(caller, open)
    await refusal(rateLimit.admit(caller, open))
    end({ inputTokens: 10, outputTokens: 20, images: 0 })
    expect(leftOf(rateLimit.look(caller))).to.deep.equal([70])
  })

  it('is gone some time after it has ended, and so is the count of calls that have', async () => {
    const { rateLimit, time } = limitsAt()
    for (let owner = 0; owner < 1000; owner++) {
      time.now = owner
      const caller = callerWith({ requestsPerMinute: 1, concurrency: 1 }, {}, String(owner))
      ;(await rateLimit.admit(caller, demandOf())).end(nothing)
    }
    expect(rateLimit.size()).to.equal(1000)
    time.now = 60_500
    await rateLimit.admit(callerWith({ requestsPerMinute: 1 }, {}, 'last'), demandOf())
    expect(rateLimit.size()).to.equal(500)
  })
})

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
  const asAct: fc.Arbitrary<Act> = fc.oneof(
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
        ms: fc.constantFrom(1, 1000, 30_000, 59_999, 60_000),
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

  /** What the limits promise, in the plainest form: who has taken what of which window. */
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
    /** Undefined when it is refused; else what ends it. */
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

  it('are kept whatever happens in whatever order, and whatever the clock of the wall does', async () => {
    const property = fc.asyncProperty(
      fc.tuple(asLimits, asLimits, asLimits),
      fc.array(asAct, { minLength: 10, maxLength: 60 }),
      async (limits, acts) => {
        const { rateLimit, time, faults } = limitsAt()
        const model = new Model([...limits])
        let wall = realNow()
        Date.now = () => wall
        // As a key that is looked up again brings its limits.
        const callers = () =>
          [0, 1].map((key) => callerWith(model.limits[key + 1]!, model.limits[0], String(key)))
        let [one, two] = callers()
        const calls: { admitted: Promise<Admission>; end: (used: Used | undefined) => void }[] = []
        for (const act of acts) {
          if (act.act === 'call') {
            const caller = (act.key === 0 ? one : two)!
            const expected = model.call(act.key, {
              inputTokens: act.tokens,
              outputTokens: 0,
              images: act.images,
            })
            const admitted = rateLimit.admit(caller, demandOf(act.images, act.tokens))
            if (expected === undefined) await refusal(admitted)
            else calls.push({ admitted, end: expected })
          } else if (act.act === 'end' && calls.length > 0) {
            const { admitted, end } = calls[act.call % calls.length]!
            ;(await admitted).end(act.used)
            end(act.used)
          } else if (act.act === 'pass') {
            time.now += act.ms
            model.now += act.ms
            wall += act.ms
          } else if (act.act === 'jump') {
            wall += act.ms
          } else if (act.act === 'change') {
            model.limits[act.owner] = act.limits
            ;[one, two] = callers()
          }
          expect(rateLimit.look(one!).map(({ remaining }) => remaining)).to.have.members(
            model.left(0),
          )
          expect(rateLimit.look(two!).map(({ remaining }) => remaining)).to.have.members(
            model.left(1),
          )
          expect(rateLimit.size()).to.be.at.most(12)
        }
        await Promise.all(calls.map(({ admitted }) => admitted))
        expect(faults).to.deep.equal([])
      },
    )
    await fc.assert(property, { numRuns: 1000 })
  })
})
