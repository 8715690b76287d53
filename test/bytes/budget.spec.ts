import { expect } from 'chai'
import fc from 'fast-check'
import { createBudget, type Hold } from '../../src/bytes/budget.ts'

const step = fc.record({
  /** The index of a reservation. */
  at: fc.nat({ max: 4 }),
  bytes: fc.nat({ max: 600 }),
  does: fc.constantFrom('take', 'takeMore', 'draw', 'give', 'keep', 'watch', 'leave', 'release'),
  after: fc.nat({ max: 30 }),
})

describe('the budget of bytes', () => {
  it('is never exceeded, and is free again at the end', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        let now = 0
        const budget = createBudget({ bytesMax: 1000, graceMs: 20, now: () => now })
        const holds = Array.from({ length: 5 }, (_, at) => {
          const hold = budget.open()
          hold.own(`acc_${at % 2}`)
          return hold
        })
        const nothing = () => undefined
        const calls: Record<(typeof steps)[number]['does'], (hold: Hold, bytes: number) => void> = {
          take: (hold, bytes) => hold.take(bytes),
          takeMore: (hold, bytes) => hold.takeMore(bytes),
          draw: (hold, bytes) => hold.draw(bytes, nothing, nothing),
          give: (hold, bytes) => hold.give(bytes),
          keep: (hold, bytes) => hold.keep(Math.min(bytes, hold.bytes)),
          watch: (hold) => hold.watch({ moved: () => 0, cut: nothing }),
          leave: (hold) => hold.leave(nothing),
          release: (hold) => hold.release(),
        }
        for (const { at, bytes, does, after } of steps) {
          calls[does](holds[at]!, bytes)
          now += after
          if (after === 0) await new Promise((resolve) => setImmediate(resolve))
          expect(budget.bytes()).to.be.within(0, 1000)
          expect(holds.reduce((sum, hold) => sum + hold.bytes, 0)).to.equal(budget.bytes())
        }
        for (const hold of holds) hold.release()
        expect(budget.bytes()).to.equal(0)
      }),
    )
  })

  it('lets every waiting reservation finish, one after the other', async () => {
    const budget = createBudget({ bytesMax: 2e6, graceMs: 20, now: () => performance.now() })
    const ended: number[] = []
    /** Reserves 70 000 bytes ten times, and releases all bytes at the end. */
    const arrive = (index: number) =>
      new Promise<void>((resolve, reject) => {
        const hold = budget.open()
        let left = 10
        const next = () => {
          if (left-- > 0) {
            const fate = hold.draw(70_000, next, () => reject(new Error('refused')))
            if (fate === 'go') setImmediate(next)
            return
          }
          ended.push(index)
          hold.release()
          resolve()
        }
        next()
      })
    await Promise.all(Array.from({ length: 20 }, (_, index) => arrive(index)))
    expect(ended).to.have.length(20)
    expect(budget.bytes()).to.equal(0)
  })
})
