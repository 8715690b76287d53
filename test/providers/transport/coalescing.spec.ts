import { mock } from 'node:test'
import { expect } from 'chai'
import { coalesceStreams } from '../../../src/providers/transport/coalescing.ts'

const turn = () => new Promise<void>((resolve) => queueMicrotask(resolve))
const limits = { intervalMs: 10, bytesMax: 100, streamsMin: 3 }

describe('the parts of many streams', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }))
  afterEach(() => mock.timers.reset())

  /** Coalescing with open streams. `gone` records the name of each part that is flushed. */
  const open = (streams: number, options: Partial<typeof limits> = {}) => {
    const coalescing = coalesceStreams({ ...limits, ...options })
    for (let count = 0; count < streams; count += 1) coalescing.opened()
    const gone: string[] = []
    return { coalescing, gone, arrives: (part: string) => coalescing.next(() => gone.push(part)) }
  }

  it('wait for each other, and are flushed in order', () => {
    const { gone, arrives } = open(3)
    arrives('one')
    mock.timers.tick(6)
    arrives('two')
    mock.timers.tick(3)
    expect(gone).to.deep.equal([])
    mock.timers.tick(1)
    expect(gone).to.deep.equal(['one', 'two'])
  })

  it('wait again after a flush', () => {
    const { gone, arrives } = open(3)
    arrives('one')
    mock.timers.tick(10)
    arrives('two')
    mock.timers.tick(9)
    expect(gone).to.deep.equal(['one'])
    mock.timers.tick(1)
    expect(gone).to.deep.equal(['one', 'two'])
  })

  it('that arrive during a flush wait for the next one', () => {
    const { coalescing, gone, arrives } = open(3)
    coalescing.next(() => arrives('late'))
    mock.timers.tick(10)
    expect(gone).to.deep.equal([])
    mock.timers.tick(10)
    expect(gone).to.deep.equal(['late'])
  })

  for (const [why, streams, options] of [
    ['there are few streams', 2, {}],
    ['the interval is 0', 3, { intervalMs: 0 }],
  ] as const) {
    it(`wait only for a microtask when ${why}`, async () => {
      const { gone, arrives } = open(streams, options)
      arrives('one')
      expect(gone).to.deep.equal([])
      await turn()
      expect(gone).to.deep.equal(['one'])
    })
  }

  it('stop waiting when other streams are closed', async () => {
    const { coalescing, gone, arrives } = open(3)
    coalescing.closed()
    arrives('one')
    await turn()
    expect(gone).to.deep.equal(['one'])
  })
})
