import { expect } from 'chai'
import { Keyv } from 'keyv'
import { LRUCache } from 'lru-cache'
import type { Remembered } from '../../src/core/recall/remembered.ts'
import { createResponseCache } from '../../src/policy/response-cache.ts'
import { until } from '../support/until.ts'

const base64 = [Buffer.from('aGVs'), Buffer.from('bG8h')]
const answer = (result: unknown = Buffer.from('{"a":":base64:é"}')): Remembered => ({
  modelId: 'm',
  provider: 'p',
  usage: { inputTokens: 1, outputTokens: 2, images: 0, estimated: false },
  warnings: [{ param: 'n', requested: 2, applied: null, reason: 'No.' }],
  bytes: 100,
  result,
})

/** A bounded store, as an operator's would be. */
function boundedStore() {
  const kept = new LRUCache<string, { value: unknown }>({ max: 100 })
  return {
    get: (key: string): unknown => kept.get(key)?.value,
    set: (key: string, value: unknown) => kept.set(key, { value }),
    delete: (key: string) => kept.delete(key),
    clear: () => kept.clear(),
    has: (key: string) => kept.has(key),
    keys: () => kept.keys(),
  }
}

describe('a cache outside of the process', () => {
  let now = 0
  beforeEach(() => (now = Date.now()))

  /** The cache of one of several replicas; each has a memory of its own. */
  function replica(store: Pick<Keyv, 'get' | 'set' | 'on'>, limits = {}) {
    const failures: unknown[] = []
    const onFailure = (error: unknown) => void failures.push(error)
    const far = { store, timeoutMs: 20, writesMax: 2, onFailure, ...limits }
    const near = { cacheEntryBytesMax: 50_000, cacheTtlSeconds: 60 }
    const bounds = { bytesMax: 100_000, limits: () => near }
    return {
      failures,
      ...createResponseCache({ ...bounds, far, clock: () => now, monotonic: () => now }),
    }
  }
  /** What one replica remembers, as another recalls it. */
  async function passed(result?: unknown) {
    const store = new Keyv({ store: boundedStore() })
    const [one, other] = [replica(store), replica(store)]
    one.remember('key', answer(result), undefined)
    let found: Remembered | undefined
    await until('it has arrived', async () => (found = await other.recall('key')) !== undefined)
    return { one, other, found }
  }

  it('gives one replica what another remembers', async () => {
    const { found } = await passed()
    expect(found).to.deep.equal(answer())
  })

  it('keeps the bytes of pictures and streams as they are', async () => {
    const pictures = [{ base64, format: 'png', width: 1, height: 1 }]
    const result = { pictures, events: Buffer.from('data: {}\n\n') }
    expect((await passed(result)).found?.result).to.deep.equal(result)
  })

  it('is asked once: from then on the memory answers at once', async () => {
    const { one, other } = await passed()
    expect(one.recall('key')).to.not.be.instanceOf(Promise)
    expect(other.recall('key')).to.deep.equal(answer())
  })

  it('gives nothing that is over', async () => {
    const store = new Keyv({ store: boundedStore() })
    replica(store).remember('key', answer(), 1000)
    await until('it is kept', async () => (await store.get('key')) !== undefined)
    now += 1001
    expect(await replica(store).recall('key')).to.equal(undefined)
  })

  it('is a miss when it is slow, and when it fails', async () => {
    const never = new Promise<never>(() => undefined)
    const broken = () => Promise.reject(new Error('The far cache is down.'))
    const on = new Keyv().on.bind(new Keyv())
    for (const get of [() => never, broken]) {
      const cache = replica({ get, set: broken, on })
      expect(await cache.recall('key')).to.equal(undefined)
      expect(cache.failures).to.have.length(1)
      cache.remember('key', answer(), undefined)
      expect(cache.recall('key')).to.deep.equal(answer())
    }
  })

  it('has no more writes under way than it may, so that a slow one fills no memory', () => {
    let writes = 0
    const set = () => {
      writes++
      return new Promise<never>(() => undefined)
    }
    const keyv = new Keyv()
    const cache = replica({ get: keyv.get.bind(keyv), set, on: keyv.on.bind(keyv) })
    for (let index = 0; index < 10; index++) cache.remember(`key ${index}`, answer(), undefined)
    expect(writes).to.equal(2)
  })
})
