import { expect } from 'chai'
import fc from 'fast-check'
import type { CachedAnswer } from '../../src/core/repeats/cached-answer.ts'
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
    const { writeCache, readCache } = cache()
    for (const key of ['a', 'b', 'c']) void writeCache(key, answer(3_000_000), undefined)
    expect(readCache('a')).to.include({ bytes: 3_000_000 })
    void writeCache('d', answer(3_000_000), undefined)
    expect(readCache('b')).to.equal(undefined)
    for (const key of ['a', 'c', 'd']) expect(readCache(key)).to.include({ bytes: 3_000_000 })
  })

  it('stores nothing larger than the maximum of an entry', () => {
    const { writeCache, readCache } = cache()
    void writeCache('a', answer(4 * 1024 * 1024 + 1), undefined)
    expect(readCache('a')).to.equal(undefined)
  })

  it('returns the bytes of each picture, whatever was stored and evicted between', () => {
    const stored = fc.record({
      key: fc.integer({ min: 0, max: 9 }).map(String),
      // Around the size of a block of memory, above it, and above the cache.
      pieces: fc.array(fc.constantFrom(0, 1, 16_383, 16_384, 16_385, 40_000, 300_000), {
        maxLength: 4,
      }),
    })
    fc.assert(
      fc.property(fc.array(stored, { maxLength: 60 }), (all) => {
        const { writeCache, readCache } = createResponseCache({
          bytesMax: 500_000,
          limits: () => ({ cacheTtlSeconds: 60 }),
          monotonic: Date.now,
        })
        const latest = new Map<string, Buffer>()
        for (const [index, { key, pieces }] of all.entries()) {
          const base64 = pieces.map((length) => Buffer.alloc(length, index + 1))
          const bytes = Buffer.concat(base64).length
          const result = { pictures: [{ base64, format: 'png' }], text: `number ${index}` }
          void writeCache(key, { ...answer(bytes), result }, undefined)
          latest.set(key, Buffer.concat(base64))
          // Bytes fill blocks of 16 KiB, so the largest that fits is below the maximum.
          expect(readCache(key) === undefined, `${bytes} bytes`).to.equal(bytes > 480_000)
          for (const [name, expected] of latest) {
            const found = readCache(name)?.result as typeof result | undefined
            if (found !== undefined)
              expect(Buffer.concat(found.pictures[0]!.base64).equals(expected)).to.equal(true)
          }
        }
      }),
      { numRuns: 50 },
    )
  })

  it('does not change the bytes of an answer that is being sent', () => {
    const { writeCache, readCache } = cache()
    const picture = (value: number) => ({
      ...answer(3_000_000),
      result: [Buffer.alloc(3_000_000, value)],
    })
    void writeCache('a', picture(1), undefined)
    const [sent] = readCache('a')!.result as Buffer[]
    for (const key of ['b', 'c', 'd', 'e']) void writeCache(key, picture(2), undefined)
    expect(readCache('a')).to.equal(undefined)
    expect(sent!.equals(Buffer.alloc(3_000_000, 1))).to.equal(true)
  })
})
