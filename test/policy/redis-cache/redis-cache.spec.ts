import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { joinPieces } from '../../../src/bytes/pieces.ts'
import type { ImageResult } from '../../../src/core/image/image.ts'
import type { CachedAnswer } from '../../../src/core/repeats/cached-answer.ts'
import { togetherInMemory, togetherInRedis, type Together } from '../../support/redis-caches.ts'
import { programPath } from '../../support/program-path.ts'
import { until } from '../../support/until.ts'

const answer = (result: unknown = Buffer.from('{"a":":base64:é"}'), bytes = 100): CachedAnswer => ({
  modelId: 'm',
  provider: 'p',
  usage: { inputTokens: 1, outputTokens: 2, images: 0, estimated: false },
  warnings: [{ param: 'n', requested: { '\0bytes': 2 }, applied: null, reason: 'No.' }],
  bytes,
  result,
})
/** The entry without its size in bytes, which differs between caches. */
const withoutBytes = (one: CachedAnswer) => ({ ...one, bytes: 0 })

/** The same tests for each kind of shared cache. */
const places: Record<
  string,
  (options?: Parameters<typeof togetherInRedis>[0]) => Promise<Together>
> = {
  'in memory': togetherInMemory,
  'in Redis': togetherInRedis,
}

for (const [place, gather] of Object.entries(places)) {
  describe(`the shared cache ${place}`, () => {
    const ended: Together[] = []
    before(function () {
      if (gather === togetherInRedis) programPath('redis-server', this)
    })
    afterEach(() => Promise.all(ended.splice(0).map(({ end }) => end())))
    const pair = async (options?: Parameters<typeof togetherInRedis>[0]) => {
      const together = await gather(options)
      ended.push(together)
      const [one, other] = together.processes
      return { one: one!, other: other!, together }
    }
    const passed = async (given: CachedAnswer): Promise<CachedAnswer | undefined> => {
      const { one, other } = await pair()
      expect(await one.writeCache('key', given, undefined)).to.equal(true)
      return other.readSharedCache('key')
    }

    it('returns to one process the entries of another', async () => {
      const found = await passed(answer())
      expect(withoutBytes(found!)).to.deep.equal(withoutBytes(answer()))
    })

    it('returns a stream unchanged', async () => {
      const result = { events: Buffer.from('data: {}\n\n'), identity: { id: 'a', created: 1 } }
      expect((await passed(answer(result)))?.result).to.deep.equal(result)
    })

    it('returns members of a vendor unchanged that look like its own marks', async () => {
      const scores = {
        '\0bytes': 2,
        a: [{ '\0bytes': [{ '\0bytes': 'x' }] }],
        b: { '\0bytes': true },
      }
      const result = { results: [scores, {}], events: Buffer.from('data: {}\n\n') }
      expect((await passed(answer(result)))?.result).to.deep.equal(result)
    })

    it('returns a picture of 2 MiB unchanged, however it was split', async () => {
      const base64 = Array.from({ length: 32 }, () => randomBytes(65_536))
      const picture = { base64, format: 'png', width: 1, height: 1 }
      const found = await passed(answer({ pictures: [picture, picture] }, 4_194_304 - 1))
      const { pictures } = found!.result as ImageResult
      expect(pictures.map(({ width }) => width)).to.deep.equal([1, 1])
      for (const one of pictures) {
        expect(joinPieces(one.base64).equals(joinPieces(base64))).to.equal(true)
      }
      expect(found!.bytes).to.be.greaterThan(4_194_304)
    })

    it('is read once, after which the memory cache answers', async () => {
      const { one, other } = await pair()
      await one.writeCache('key', answer(), undefined)
      expect(other.readCache('key')).to.equal(undefined)
      await other.readSharedCache('key')
      expect(withoutBytes(other.readCache('key')!)).to.deep.equal(withoutBytes(answer()))
    })

    it('misses other names, and counts each outcome', async () => {
      const { one, other } = await pair()
      await one.writeCache('key', answer(), undefined)
      expect(await other.readSharedCache('another')).to.equal(undefined)
      await other.readSharedCache('key')
      expect([one.outcomes, other.outcomes]).to.deep.equal([['kept'], ['miss', 'hit']])
    })

    it('drops expired entries', async () => {
      const { one, other, together } = await pair()
      await one.writeCache('key', answer(), 500)
      expect(await other.readSharedCache('key')).to.not.equal(undefined)
      await until(
        'it is over',
        async () => (await together.join().readSharedCache('key')) === undefined,
      )
    })

    it('stores nothing larger than the maximum of an entry', async () => {
      const { one, other } = await pair()
      expect(one.writeCache('key', answer(Buffer.alloc(10), 8_000_001), undefined)).to.equal(
        undefined,
      )
      // The answer is larger than the size that it reports.
      const large = answer(randomBytes(9_000_000))
      expect(await one.writeCache('key', large, undefined)).to.equal(false)
      expect(await other.readSharedCache('key')).to.equal(undefined)
    })

    it('limits concurrent writes', async () => {
      const { one } = await pair({
        limits: { sharedCacheWritesMax: 2, sharedCacheWrittenBytesMax: 1000 },
      })
      const kept = [answer(), answer(), answer()].map((given, index) =>
        one.writeCache(`key ${index}`, given, undefined),
      )
      expect(kept[2]).to.equal(undefined)
      for (const writing of kept) await writing
      expect(one.writeCache('large', answer(Buffer.alloc(10), 1001), undefined)).to.equal(undefined)
    })

    it('is unreadable with another secret or name', async () => {
      const { one, together } = await pair()
      await one.writeCache('key', answer(), undefined)
      const stranger = together.join({ key: randomBytes(32) })
      expect(await stranger.readSharedCache('key')).to.equal(undefined)
      expect(stranger.outcomes).to.deep.equal(['broken'])
      const neighbour = together.join({ namespace: 'another:answers' })
      expect(await neighbour.readSharedCache('key')).to.equal(undefined)
      expect(neighbour.outcomes).to.deep.equal(['miss'])
    })
  })
}
