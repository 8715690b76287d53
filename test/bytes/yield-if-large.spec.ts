import { expect } from 'chai'
import { createMemoryBudget, type MemoryHold } from '../../src/bytes/memory-budget.ts'

describe('a request between its steps', () => {
  const garbage: number[] = []
  const holding = (bytes: number): MemoryHold => {
    const onGarbage = (count: number) => garbage.push(count)
    const memory = createMemoryBudget({
      bytesMax: 1e9,
      graceMs: 2000,
      now: () => 0,
      onGarbage,
    }).open()
    memory.take(bytes)
    return memory
  }
  beforeEach(() => void garbage.splice(0))

  it('continues at once when it is small', () => {
    expect(holding(10_000).yieldIfLarge()).to.equal(undefined)
    expect(garbage).to.deep.equal([])
  })

  it('yields to other requests when it is large', async () => {
    const order: string[] = []
    setImmediate(() => order.push('another'))
    await holding(8 * 1024 * 1024).yieldIfLarge()
    order.push('the large one')
    expect(order).to.deep.equal(['another', 'the large one'])
    expect(garbage).to.deep.equal([8 * 1024 * 1024])
  })
})
