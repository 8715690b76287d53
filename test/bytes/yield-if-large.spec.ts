import { expect } from 'chai'
import { yieldIfLarge } from '../../src/bytes/budget.ts'

describe('a request between its steps', () => {
  it('continues at once when it is small', () => {
    expect(yieldIfLarge({ bytes: 10_000 })).to.equal(undefined)
  })

  it('yields to other requests when it is large', async () => {
    const order: string[] = []
    setImmediate(() => order.push('another'))
    await yieldIfLarge({ bytes: 8 * 1024 * 1024 })
    order.push('the large one')
    expect(order).to.deep.equal(['another', 'the large one'])
  })
})
