import { expect } from 'chai'
import fc from 'fast-check'
import { createMemoryBudget, type MemoryHold } from '../../src/bytes/memory-budget.ts'

const step = fc.record({
  /** The index of a reservation. */
  at: fc.nat({ max: 4 }),
  bytes: fc.nat({ max: 600 }),
  does: fc.constantFrom(
    ...([
      'take',
      'takeMore',
      'draw',
      'reserve',
      'give',
      'keep',
      'watch',
      'leave',
      'release',
    ] as const),
  ),
  after: fc.nat({ max: 30 }),
})

describe('the budget of bytes', () => {
  it('is never exceeded, and is free again at the end', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        let now = 0
        const limits = { bytesMax: 1000, pictureBytesMax: 1500, graceMs: 20 }
        const memoryBudget = createMemoryBudget({ ...limits, now: () => now })
        const ending = new AbortController()
        const holds = Array.from({ length: 5 }, (_, at) => {
          const memory = memoryBudget.open()
          memory.own(`acc_${at % 2}`)
          return memory
        })
        const nothing = () => undefined
        const calls: Record<
          (typeof steps)[number]['does'],
          (memory: MemoryHold, bytes: number) => void
        > = {
          take: (memory, bytes) => memory.take(bytes),
          takeMore: (memory, bytes) => memory.takeMore(bytes),
          draw: (memory, bytes) => memory.draw(bytes, nothing, nothing),
          reserve: (memory, bytes) => void memory.reserve(bytes * 4, ending.signal).catch(nothing),
          give: (memory, bytes) => memory.give(bytes),
          keep: (memory, bytes) => memory.retain(Math.min(bytes, memory.bytes)),
          watch: (memory) => memory.watch({ moved: () => 0, cut: nothing }),
          leave: (memory) => memory.leave(nothing),
          release: (memory) => memory.release(),
        }
        for (const { at, bytes, does, after } of steps) {
          calls[does](holds[at]!, bytes)
          now += after
          const isLate = after === 0 || does === 'reserve' || does === 'release'
          if (isLate) await new Promise((resolve) => setImmediate(resolve))
          expect(memoryBudget.bytes()).to.be.within(0, 2500)
          const sum = holds.reduce((all, { bytes, reserved }) => all + (reserved || bytes), 0)
          expect(sum).to.equal(memoryBudget.bytes())
          for (const { bytes, reserved } of holds) {
            expect(bytes).to.be.at.most(reserved + 1000 + (reserved === 0 ? 0 : 600))
          }
        }
        ending.abort(new Error('over'))
        for (const memory of holds) memory.release()
        await new Promise((resolve) => setImmediate(resolve))
        expect(memoryBudget.bytes()).to.equal(0)
      }),
    )
  })

  it('reserves memory for large pictures in order, and cuts off clients that pause meanwhile', async () => {
    const limits = { bytesMax: 1000, pictureBytesMax: 2000, graceMs: 20 }
    const memoryBudget = createMemoryBudget({ ...limits, now: () => performance.now() })
    const { signal } = new AbortController()
    const [first, second, third, late] = [
      memoryBudget.open(),
      memoryBudget.open(),
      memoryBudget.open(),
      memoryBudget.open(),
    ]
    await first.reserve(5000, signal)
    expect(memoryBudget.bytes()).to.equal(2000)
    expect(
      first.draw(
        2900,
        () => undefined,
        () => undefined,
      ),
    ).to.equal('go')
    expect(first.takeMore(200)).to.equal('never')
    // Other requests keep the memory of the budget.
    expect(third.take(500)).to.equal(undefined)
    const order: string[] = []
    const leaving = new AbortController()
    const left = late.reserve(2000, leaving.signal).catch((error: Error) => error.message)
    const waiting = second.reserve(1500, signal).then(() => order.push('second'))
    const small = third.reserve(500, signal).then(() => order.push('third'))
    leaving.abort(new Error('left'))
    expect(await left).to.equal('left')
    expect(order).to.deep.equal([])
    first.watch({ moved: () => 0, cut: () => order.push('cut') })
    await Promise.all([waiting, small])
    expect(order).to.deep.equal(['cut', 'second', 'third'])
    for (const memory of [second, third]) memory.release()
    expect(memoryBudget.bytes()).to.equal(0)
  })

  it('lets every waiting reservation finish, one after the other', async () => {
    const memoryBudget = createMemoryBudget({
      bytesMax: 2e6,
      graceMs: 20,
      now: () => performance.now(),
    })
    const ended: number[] = []
    /** Reserves 70 000 bytes ten times, and releases all bytes at the end. */
    const arrive = (index: number) =>
      new Promise<void>((resolve, reject) => {
        const memory = memoryBudget.open()
        let left = 10
        const next = () => {
          if (left-- > 0) {
            const fate = memory.draw(70_000, next, () => reject(new Error('refused')))
            if (fate === 'go') setImmediate(next)
            return
          }
          ended.push(index)
          memory.release()
          resolve()
        }
        next()
      })
    await Promise.all(Array.from({ length: 20 }, (_, index) => arrive(index)))
    expect(ended).to.have.length(20)
    expect(memoryBudget.bytes()).to.equal(0)
  })
})
