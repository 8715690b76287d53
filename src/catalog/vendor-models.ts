import { LRUCache } from 'lru-cache'
import { AmbiguousModel } from '../core/words/model-not-found.ts'
import type { Model } from '../core/model.ts'
import { plainName, type NamePrefixes } from './names.ts'
import { undescribedModel } from './undescribed.ts'

/** The models of the vendors' own lists, beyond the catalog. */
export type VendorModels = {
  /**
   * The model of a name in the lists that are known, undescribed and without a price. Throws
   * an AmbiguousModel for a name that several vendors have.
   */
  find(name: string): Model | undefined
  /** Reads the lists that are missing or old; undefined when there are none. Never rejects. */
  learn(): Promise<void> | undefined
}

type Options = {
  /** Gives the names of a vendor's own list; rejects when it cannot be had. */
  lists: ReadonlyMap<string, (signal: AbortSignal) => Promise<readonly string[]>>
  prefixes: NamePrefixes
  limits: { modelListTtlSeconds: number; modelListTimeoutMs?: number }
  monotonic: () => number
}

/** A vendor's names by their lower case, and until when nobody asks for them again. */
type Known = { names: ReadonlyMap<string, string>; until: number; reading?: Promise<void> }

/** Callers may name any model: only the most recently used ones are kept. */
const modelsMax = 1000
/** How long a vendor whose list cannot be had is left alone. */
const retryMs = 30_000
/** A call waits for the list; without it the name is unknown. */
const listTimeoutMs = 3000

/** Asks each vendor at most once in a while, and only after a name that nobody knows. */
export function createVendorModels({ lists, prefixes, limits, monotonic }: Options): VendorModels {
  const { modelListTtlSeconds, modelListTimeoutMs = listTimeoutMs } = limits
  const known = new Map<string, Known>()
  const models = new LRUCache<string, Model>({ max: modelsMax })
  const providers = new Map(
    Object.entries(prefixes).flatMap(([id, others]) => [id, ...others].map((one) => [one, id])),
  )

  const read = async (id: string, list: (signal: AbortSignal) => Promise<readonly string[]>) => {
    const before = known.get(id)?.names ?? new Map<string, string>()
    try {
      const told = await list(AbortSignal.timeout(modelListTimeoutMs))
      const names = told.filter((name) => plainName(name) !== undefined)
      known.set(id, {
        names: new Map(names.map((one) => [plainName(one)!, one])),
        until: monotonic() + modelListTtlSeconds * 1000,
      })
    } catch {
      // The names of an earlier list still count; the failure itself concerns no caller.
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
    find: (name) => {
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
    learn: () => {
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
