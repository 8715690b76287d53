import { expect } from 'chai'
import fc from 'fast-check'
import { createQueue } from '../../src/bytes/queue.ts'

const full = () => new Error('full')
const task = fc.record({
  bytes: fc.nat({ max: 150 }),
  leaves: fc.boolean(),
  mustWait: fc.boolean(),
})

describe('a queue of tasks', () => {
  it('keeps order and limits, and is empty at the end, whatever ends first or leaves', () =>
    fc.assert(
      fc.asyncProperty(fc.array(task, { maxLength: 20 }), fc.scheduler(), async (tasks, order) => {
        const queue = createQueue({ concurrentMax: 3, bytesMax: 100, waitingMax: 5, full })
        const started: number[] = []
        let [running, bytes] = [0, 0]
        const run = (one: (typeof tasks)[number], index: number) => {
          const ending = new AbortController()
          const work = async () => {
            started.push(index)
            running++
            bytes += one.bytes
            expect(running).to.be.at.most(3)
            if (running > 1) expect(bytes).to.be.at.most(100)
            await order.schedule(Promise.resolve())
            running--
            bytes -= one.bytes
          }
          const ran = queue.run(work, { ...one, signal: ending.signal })
          if (one.leaves) setImmediate(() => ending.abort(new Error('left')))
          return ran.catch((error: Error) => {
            expect(error.message).to.be.oneOf(one.mustWait ? ['left'] : ['full', 'left'])
          })
        }
        await order.waitFor(Promise.all(tasks.map(run)))
        expect(started).to.deep.equal(started.toSorted((a, b) => a - b))
        expect([queue.waiting(), queue.taken(), running]).to.deep.equal([0, 0, 0])
      }),
    ))

  it('refuses a task when too many wait, but not one that must wait', async () => {
    const queue = createQueue({ concurrentMax: 1, waitingMax: 1, full })
    const end = await queue.enter()
    queue.assertRoom()
    const second = queue.enter()
    expect(() => queue.assertRoom()).to.throw('full')
    const third = queue.enter({ mustWait: true })
    expect(await queue.enter().catch((error: Error) => error.message)).to.equal('full')
    end()
    ;(await second)()
    ;(await third)()
    expect(queue.taken()).to.equal(0)
  })
})
