import { expect } from 'chai'
import type { LimitState } from '../../src/core/limits.ts'
import { callerWith, demandOf, limitsAt, nothing, refusal } from '../support/limits.ts'

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

  it('is that of the settings for an account without limits of its own, also after a reload', async () => {
    const { rateLimit, settings } = limitsAt()
    const caller = callerWith({}, { tokensPerMinute: 7 })
    settings.limits = { ...settings.limits, requestsPerMinute: 2, tokensPerMinute: 1 }
    await rateLimit.admit(caller, demandOf())
    expect(leftOf(rateLimit.look(caller))).to.deep.equal([1, 7])
    settings.limits = { ...settings.limits, requestsPerMinute: 9 }
    expect(leftOf(rateLimit.look(caller))).to.deep.equal([8, 7])
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
