import { expect } from 'chai'
import fc from 'fast-check'
import { splitCalls } from '../../../src/core/image/image.ts'

const pictures = fc.integer({ min: 1, max: 10 })
const perCall = fc.integer({ min: 1, max: 12 })
const concurrency = fc.integer({ min: 1, max: 5 })

/** Image calls that the scheduler ends in any order. */
function openCalls(order: fc.Scheduler) {
  const made: { count: number; index: number }[] = []
  let running = 0
  let most = 0
  return {
    made,
    most: () => most,
    call: async (count: number, index: number) => {
      made.push({ count, index })
      most = Math.max(most, ++running)
      await order.schedule(Promise.resolve())
      running--
      return Array.from({ length: count }, (_, offset) => index + offset)
    },
  }
}

describe('pictures over several upstream calls', () => {
  it('are returned in order, each once, whichever call ends first', () =>
    fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        pictures,
        perCall,
        concurrency,
        async (order, n, most, atOnce) => {
          const calls = openCalls(order)
          const answers: number[][] = []
          const split = { n, perCall: most, concurrency: atOnce, answers }
          await order.waitFor(splitCalls(split, calls.call))
          expect(answers.flat()).to.deep.equal(Array.from({ length: n }, (_, index) => index))
          expect(calls.made).to.have.length(Math.ceil(n / most))
          expect(Math.max(...calls.made.map(({ count }) => count))).to.be.at.most(most)
        },
      ),
    ))

  it('are requested concurrently, up to the limit', () =>
    fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        pictures,
        perCall,
        concurrency,
        async (order, n, most, atOnce) => {
          const calls = openCalls(order)
          const split = { n, perCall: most, concurrency: atOnce, answers: [] }
          await order.waitFor(splitCalls(split, calls.call))
          expect(calls.most()).to.equal(Math.min(atOnce, Math.ceil(n / most)))
        },
      ),
    ))

  it('are not requested any more once a call has failed; running calls are awaited', async () => {
    const begun: number[] = []
    const gates = Array.from({ length: 10 }, () => Promise.withResolvers<number>())
    const answers: number[] = []
    const split = { n: 10, perCall: 1, concurrency: 2, answers }
    const splitting = splitCalls(split, (_count, index) => {
      begun.push(index)
      return gates[index]!.promise
    }).catch((error: Error) => error.message)
    gates[0]!.resolve(0)
    await gates[0]!.promise
    gates[1]!.reject(new Error('no more'))
    gates[2]!.resolve(2)
    expect(await splitting).to.equal('no more')
    expect(begun).to.deep.equal([0, 1, 2])
    expect(Object.values(answers)).to.deep.equal([0, 2])
  })
})
