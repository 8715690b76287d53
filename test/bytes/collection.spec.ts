import { expect } from 'chai'
import { collectNear, type CollectionCause } from '../../src/bytes/collection.ts'
import { until } from '../support/until.ts'

const mebibyte = 1024 * 1024
const residentBytesMax = 400 * mebibyte

/** A process with a simulated memory size, and its garbage collections. */
function processWith(memory: { residentBytes: number; allocatedBytes: number }, restMs?: number) {
  const collected: CollectionCause[] = []
  const collector = {
    collect: (cause: CollectionCause) => void collected.push(cause),
    memory: () => memory,
  }
  const options = { residentBytesMax, ...(restMs === undefined ? {} : { restMs }) }
  return { memory, collected, given: collectNear(collector, options) }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

describe('garbage collection after memory was released', () => {
  it('is left to V8 below the limit, however much is released', async () => {
    const { collected, given } = processWith({
      residentBytes: residentBytesMax,
      allocatedBytes: 300 * mebibyte,
    })
    for (let count = 0; count < 10_000; count++) given(mebibyte)
    await turn()
    expect(collected).to.deep.equal([])
  })

  it('is forced above the limit, and again only after new garbage', async () => {
    const { memory, collected, given } = processWith({
      residentBytes: residentBytesMax + 1,
      allocatedBytes: 300 * mebibyte,
    })
    for (let count = 0; count < 32; count++) given(mebibyte)
    await turn()
    expect(collected).to.deep.equal(['memory'])
    for (let count = 0; count < 320; count++) given(mebibyte)
    await turn()
    expect(collected).to.deep.equal(['memory'])
    memory.allocatedBytes += 64 * mebibyte
    for (let count = 0; count < 32; count++) given(mebibyte)
    await turn()
    expect(collected).to.deep.equal(['memory', 'memory'])
  })

  it('ignores the small buffers of each request', async () => {
    const { collected, given } = processWith({
      residentBytes: residentBytesMax + 1,
      allocatedBytes: 300 * mebibyte,
    })
    for (let count = 0; count < 100_000; count++) given(10_000)
    await turn()
    expect(collected).to.deep.equal([])
  })

  it('is forced once after a burst', async () => {
    const { collected, given } = processWith({ residentBytes: 0, allocatedBytes: 0 }, 20)
    given(mebibyte)
    await new Promise((resolve) => setTimeout(resolve, 60))
    expect(collected).to.deep.equal([])
    given(10 * mebibyte)
    await until('it is collected', () => collected.length > 0)
    expect(collected).to.deep.equal(['rest'])
  })
})
