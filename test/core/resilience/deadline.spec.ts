import { mock } from 'node:test'
import { expect } from 'chai'
import fc from 'fast-check'
import { createDeadlines } from '../../../src/core/resilience/deadline.ts'
import { Ending } from '../../../src/core/resilience/ending.ts'
import { ProviderFailure } from '../../../src/core/failure.ts'

const timeoutMs = 50

/** Advances the clock by single milliseconds: in a longer step all timers would see the step's end. */
const passMs = (count: number) => {
  for (let ms = 0; ms < count; ms += 1) mock.timers.tick(1)
}

describe('deadlines', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout', 'Date'] }))
  afterEach(() => mock.timers.reset())

  it('end exactly the open calls in their own millisecond', () => {
    const step = fc.record({
      afterMs: fc.integer({ min: 0, max: 80 }),
      timeoutMs: fc.constantFrom(timeoutMs, 70),
      /** Undefined for a call that ends only by its deadline. */
      lastsMs: fc.option(fc.integer({ min: 0, max: 90 }), { nil: undefined }),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
        const start = createDeadlines({ now: Date.now })
        const wanted: (number | undefined)[] = []
        const seen: (number | undefined)[] = []
        for (const [index, { afterMs, timeoutMs, lastsMs = Infinity }] of steps.entries()) {
          passMs(afterMs)
          const ending = new Ending()
          const begunAt = Date.now()
          ending.signal.addEventListener('abort', () => {
            seen[index] = Date.now() - begunAt
          })
          const deadline = start(ending, timeoutMs, 0)
          if (lastsMs < timeoutMs) setTimeout(deadline.clear, lastsMs)
          wanted[index] = lastsMs < timeoutMs ? undefined : timeoutMs
          seen[index] = undefined
        }
        passMs(100)
        expect(seen).to.deep.equal(wanted)
      }),
    )
  })

  it('have the reason and the time of the end of a call', () => {
    const ending = new Ending()
    const { signal, endsAt } = createDeadlines({ now: Date.now })(ending, timeoutMs, 1000)
    mock.timers.tick(timeoutMs)
    expect(endsAt).to.equal(1000 + timeoutMs)
    expect(signal.reason).to.be.instanceOf(ProviderFailure)
    expect(signal.reason).to.include({ kind: 'timeout', message: 'No answer within 50 ms.' })
  })
})
