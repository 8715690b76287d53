import { expect } from 'chai'
import { collectAfter, type Collector } from '../../src/bytes/collection.ts'
import { until } from '../support/until.ts'

const mebibyte = 1024 * 1024

/** Notes what is asked of it. */
function collectorOf(collected: boolean[], onCollected = (_listener: () => void) => {}): Collector {
  return { collect: (isIdle) => void collected.push(isIdle), onCollected }
}

describe('memory that was let go of', () => {
  it('is collected whenever it is much, and not for the small change of every request', async () => {
    const collected: boolean[] = []
    const given = collectAfter(collectorOf(collected))
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
    const given = collectAfter(collectorOf(collected), 20)
    given(mebibyte)
    await new Promise((resolve) => setTimeout(resolve, 60))
    expect(collected).to.deep.equal([])
    given(10 * mebibyte)
    await until('it is collected', () => collected.length > 0)
    expect(collected).to.deep.equal([true])
  })

  it('is not collected again where V8 has just done so itself', async () => {
    const collected: boolean[] = []
    let byItself = () => {}
    const collector = collectorOf(collected, (listener) => (byItself = listener))
    const given = collectAfter(collector, 20)
    for (let count = 0; count < 10; count++) {
      for (let pieces = 0; pieces < 100; pieces++) given(mebibyte)
      byItself()
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(collected).to.deep.equal([])
    await until('it rests', () => collected.length > 0)
    expect(collected).to.deep.equal([true])
  })
})
