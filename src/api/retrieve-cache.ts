import type { Operation } from '../http/operation.ts'

/** What the settings say of the response cache now. */
export type CacheSettings = () => { cacheTtlSeconds: number; cacheEntryBytesMax: number }

/** GET /api/cache */
export function retrieveCache(settings: CacheSettings): Operation<'retrieveCache'> {
  return async () => {
    const { cacheTtlSeconds, cacheEntryBytesMax } = settings()
    return {
      status: 200,
      json: {
        object: 'response_cache',
        ttl_seconds: cacheTtlSeconds,
        entry_bytes_max: cacheEntryBytesMax,
      },
    }
  }
}
