import { expect } from 'chai'
import type { CachedAnswer } from '../../src/core/recall/cached-answer.ts'
import { createResponseCache } from '../../src/policy/response-cache.ts'

const answer = (bytes: number): CachedAnswer => ({
  modelId: 'm',
  provider: 'p',
  usage: undefined,
  warnings: [],
  bytes,
  result: null,
})

describe('the memory of the response cache', () => {
  const cache = () =>
    createResponseCache({
      bytesMax: 10_000_000,
      limits: () => ({ cacheTtlSeconds: 60 }),
      monotonic: Date.now,
    })

  it('is limited in bytes: the least recently used entry is evicted first', () => {
    const { remember, recall } = cache()
    for (const key of ['a', 'b', 'c']) void remember(key, answer(3_000_000), undefined)
    expect(recall('a')).to.include({ bytes: 3_000_000 })
    void remember('d', answer(3_000_000), undefined)
    expect(recall('b')).to.equal(undefined)
    for (const key of ['a', 'c', 'd']) expect(recall(key)).to.include({ bytes: 3_000_000 })
  })

  it('stores nothing larger than the maximum of an entry', () => {
    const { remember, recall } = cache()
    void remember('a', answer(4 * 1024 * 1024 + 1), undefined)
    expect(recall('a')).to.equal(undefined)
  })
})
