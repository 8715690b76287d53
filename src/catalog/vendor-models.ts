import { LRUCache } from 'lru-cache'
import { AmbiguousModel } from '../core/words/model-not-found.ts'
import type { Model } from '../core/model.ts'
import { plainName, providersByPrefix, type NamePrefixes } from './names.ts'
import { undescribedModel } from './undescribed.ts'

export type VendorModels = ReturnType<typeof createVendorModels>

type Options = {
  /** Functions by provider id that fetch the model names of a vendor and reject on failure. */
  lists: ReadonlyMap<string, (signal: AbortSignal) => Promise<readonly string[]>>
  prefixes: NamePrefixes
  limits: { modelListTtlSeconds: number; modelListTimeoutMs: number }
  monotonic: () => number
}

/** A vendor's model names by lower-case name, and when the list expires (`until`). */
type VendorNames = { names: ReadonlyMap<string, string>; until: number; reading?: Promise<void> }

/** Limit of cached models, since callers may name any model. */
const modelsMax = 1000
/** Delay before a list that failed is fetched again. */
const retryMs = 30_000

/** Fetches each list at most once per `modelListTtlSeconds`, and only for an unknown name. */
export function createVendorModels({ lists, prefixes, limits, monotonic }: Options) {
  const { modelListTtlSeconds, modelListTimeoutMs } = limits
  const known = new Map<string, VendorNames>()
  const models = new LRUCache<string, Model>({ max: modelsMax })
  const providers = providersByPrefix(prefixes)

  const read = async (id: string, list: (signal: AbortSignal) => Promise<readonly string[]>) => {
    const before = known.get(id)?.names ?? new Map<string, string>()
    try {
      const listed = await list(AbortSignal.timeout(modelListTimeoutMs))
      const names = listed.filter((name) => plainName(name) !== undefined)
      known.set(id, {
        names: new Map(names.map((one) => [plainName(one)!, one])),
        until: monotonic() + modelListTtlSeconds * 1000,
      })
    } catch {
      // Keeps the earlier names, so that callers do not notice the failure.
      known.set(id, { names: before, until: monotonic() + retryMs })
    }
  }
  const modelOf = (provider: string, name: string): Model => {
    const id = `${provider}/${name}`
    const model = models.get(id) ?? undescribedModel(provider, name)
    models.set(id, model)
    return model
  }

  return {
    /**
     * Finds a name in the loaded lists; the model has no capabilities or prices. Throws
     * AmbiguousModel if several vendors list the name.
     */
    find: (name: string): Model | undefined => {
      const plain = plainName(name)
      if (plain === undefined) return undefined
      const slash = plain.indexOf('/')
      const named = slash < 0 ? undefined : providers.get(plain.slice(0, slash))
      const own = named && known.get(named)?.names.get(plain.slice(slash + 1))
      if (named !== undefined && own !== undefined) return modelOf(named, own)
      const found = [...known].flatMap(([id, { names }]) => {
        const upstream = names.get(plain)
        return upstream === undefined ? [] : { id, upstream }
      })
      const [first, second] = found
      if (first === undefined) return undefined
      if (second === undefined) return modelOf(first.id, first.upstream)
      const candidates = found.map((one) => modelOf(one.id, one.upstream))
      throw new AmbiguousModel(plain, candidates)
    },
    /** Loads missing and expired lists; undefined if all lists are current. Never rejects. */
    learn: (): Promise<void> | undefined => {
      if (modelListTtlSeconds === 0) return undefined
      const now = monotonic()
      const reading = [...lists].flatMap(([id, list]) => {
        const state = known.get(id)
        if (state?.reading !== undefined) return state.reading
        if (state !== undefined && state.until > now) return []
        const names = state?.names ?? new Map<string, string>()
        const running = read(id, list)
        known.set(id, { names, until: Infinity, reading: running })
        return running
      })
      return reading.length === 0 ? undefined : Promise.all(reading).then(() => undefined)
    },
  }
}
