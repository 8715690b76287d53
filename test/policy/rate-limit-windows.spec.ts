import { expect } from 'chai'
import type { LimitState } from '../../src/core/limits.ts'
import { countedIn } from '../support/far-limits.ts'
import {
  callerWith,
  demandOf,
  limitsInMemory,
  nothing,
  refusal,
  type TestLimits,
} from '../support/limits.ts'

for (const [place, start] of Object.entries(countedIn)) {
  describe(`limits that are counted in ${place}`, () => {
    let limits: TestLimits
    beforeEach(async () => {
      limits = await start()
    })
    afterEach(async () => {
      await limits.stop()
      expect(limits.faults).to.deep.equal([])
    })

    describe('a refused call', () => {
      it('is counted by none of the limits, whichever limit refuses it', async () => {
        const caller = callerWith(
          { tokensPerMinute: 100 },
          { requestsPerMinute: 5, concurrency: 5 },
        )
        const before = await limits.look(caller)
        const error = await refusal(limits.admit(caller, demandOf(0, 101)))
        expect(error.progress.limits).to.deep.equal(before)
        expect(await limits.look(caller)).to.deep.equal(before)
      })

      it('does not affect other calls of the same tick', async () => {
        const caller = callerWith({ tokensPerMinute: 100 }, { requestsPerMinute: 1 })
        const large = refusal(limits.admit(caller, demandOf(0, 200)))
        const small = limits.admit(caller, demandOf(0, 100))
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
        it(`reports that waiting does not help with ${what}`, async () => {
          const error = await refusal(limits.admit(callerWith(key), demand))
          expect(error.message).to.match(message)
          expect(error.retryAfterSeconds).to.equal(60)
        })
      }

      it('reports the remaining amount, the requested amount and the time to wait', async () => {
        const caller = callerWith({}, { imagesPerMinute: 5 })
        await limits.admit(caller, demandOf(3))
        await limits.pass(18_000)
        const error = await refusal(limits.admit(caller, demandOf(4)))
        expect(error.message).to.equal(
          "This account may make 5 images a minute; 2 are left, and this call asks for 4. Try again in 42 s, or ask for fewer with 'n'.",
        )
        expect(error.retryAfterSeconds).to.equal(42)
      })

      it('may be repeated at once when a running call has ended', async () => {
        const caller = callerWith({ concurrency: 1 })
        const running = await limits.admit(caller, demandOf())
        const error = await refusal(limits.admit(caller, demandOf()))
        expect(error.message).to.equal(
          'This API key may have 1 call at once. Try again when one of them has ended.',
        )
        expect(error.retryAfterSeconds).to.equal(1)
        running.end(nothing)
        await limits.admit(caller, demandOf())
      })
    })

    describe('a window', () => {
      const leftOf = (states: readonly LimitState[]) => states.map(({ remaining }) => remaining)

      it('keeps its count when the limit changes', async () => {
        for (let turn = 0; turn < 4; turn++) {
          await limits.admit(callerWith({ requestsPerMinute: 5 }), demandOf())
        }
        await refusal(limits.admit(callerWith({ requestsPerMinute: 4 }), demandOf()))
        expect(leftOf(await limits.look(callerWith({ requestsPerMinute: 10 })))).to.deep.equal([6])
      })

      it('has the limit of the settings for an account without its own, also after a reload', async () => {
        const { settings } = limits
        const caller = callerWith({}, { tokensPerMinute: 7 })
        settings.limits = { ...settings.limits, requestsPerMinute: 2, tokensPerMinute: 1 }
        await limits.admit(caller, demandOf())
        expect(leftOf(await limits.look(caller))).to.deep.equal([1, 7])
        settings.limits = { ...settings.limits, requestsPerMinute: 9 }
        expect(leftOf(await limits.look(caller))).to.deep.equal([8, 7])
      })

      it('is not credited for calls that another window counted', async () => {
        const caller = callerWith({ tokensPerMinute: 100 })
        const early = await limits.admit(caller, demandOf(0, 100))
        await limits.pass(60_000)
        await limits.admit(caller, demandOf(0, 60))
        early.end(nothing)
        expect(leftOf(await limits.look(caller))).to.deep.equal([40])
      })

      it('counts usage beyond the reservation, also of a call from an earlier window', async () => {
        const caller = callerWith({ tokensPerMinute: 100 })
        const long = await limits.admit(caller, demandOf(0, 10))
        await limits.pass(90_000)
        long.end({ inputTokens: 10, outputTokens: 30, images: 0 })
        expect(leftOf(await limits.look(caller))).to.deep.equal([70])
      })

      it('admits a call without a token limit while tokens remain', async () => {
        const open = { images: 0, tokens: () => ({ certain: 10, assumed: 1000 }) }
        const caller = callerWith({ tokensPerMinute: 100 })
        const { end } = await limits.admit(caller, open)
        await refusal(limits.admit(caller, open))
        end({ inputTokens: 10, outputTokens: 20, images: 0 })
        expect(leftOf(await limits.look(caller))).to.deep.equal([70])
      })
    })
  })
}

describe('memory used for limits', () => {
  it('is freed some time after a window and its calls have ended', async () => {
    const limits = limitsInMemory()
    for (let owner = 0; owner < 1000; owner++) {
      await limits.pass(owner === 0 ? 0 : 1)
      const caller = callerWith({ requestsPerMinute: 1, concurrency: 1 }, {}, String(owner))
      ;(await limits.admit(caller, demandOf())).end(nothing)
    }
    expect(limits.size()).to.equal(1000)
    await limits.pass(60_500 - 999)
    await limits.admit(callerWith({ requestsPerMinute: 1 }, {}, 'last'), demandOf())
    expect(limits.size()).to.equal(500)
  })
})
