import { expect } from 'chai'
import { collectAfter } from '../../src/bytes/collection.ts'
import { until } from '../support/until.ts'

const mebibyte = 1024 * 1024

describe('memory that was let go of', () => {
  it('is collected whenever it is much, and not for the small change of every request', async () => {
    const collected: boolean[] = []
    const given = collectAfter((isIdle) => collected.push(isIdle))
    for (let count = 0; count < 100_000; count++) given(10_000)
    for (let count = 0; count < 127; count++) given(mebibyte)
    await new Promise((resolve) => setImmediate(resolve))
    expect(collected).to.deep.equal([])
    given(mebibyte)
    given(mebibyte)
    await until('it is collected', () => collected.length > 0)
    expect(collected).to.deep.equal([false])
  })

  it('is collected thoroughly when nothing more comes', async () => {
    const collected: boolean[] = []
    const given = collectAfter((isIdle) => collected.push(isIdle), 20)
    given(mebibyte)
    await new Promise((resolve) => setTimeout(resolve, 60))
    expect(collected).to.deep.equal([])
    given(10 * mebibyte)
    await until('it is collected', () => collected.length > 0)
    expect(collected).to.deep.equal([true])
  })
})
