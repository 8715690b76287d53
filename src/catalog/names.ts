import { schemaChecks } from '../../generated/checks.js'
import type { Model } from '../core/model.ts'
import { readPrices } from '../core/money/price.ts'
import { nearName } from '../core/words/near-name.ts'
import retired from './retired.json' with { type: 'json' }

/** Prefixes of model names besides the provider id, such as `qwen` for `alibaba`. */
export type NamePrefixes = Readonly<Record<string, readonly string[]>>

/** Finds the catalog's models by name. */
export type Names = ReturnType<typeof createNames>

/** The ids of providers by each prefix of model names, the ids included. */
export function providersByPrefix(prefixes: NamePrefixes): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(prefixes).flatMap(([id, others]) => [id, ...others].map((one) => [one, id])),
  )
}

/** The name, trimmed and in lower case; undefined for a text that cannot be the name of a model. */
export function plainName(name: string): string | undefined {
  if (!schemaChecks.ModelName(name)) return undefined
  const plain = name.trim().toLowerCase()
  return plain === '' || /\p{Cc}/u.test(plain) ? undefined : plain
}

export function createNames(
  models: readonly Model[],
  prefixes: NamePrefixes,
  ownIds: ReadonlySet<string> = new Set(),
) {
  const exact = exactNames(models)
  // Omits models of the operator's endpoints, whose names must match exactly.
  const loose = looseNames(models.filter(({ row }) => !ownIds.has(row.provider)))
  const providers = providersByPrefix(prefixes)

  /** A model by its name without a prefix, at the given provider or at any provider. */
  const find = (plain: string, provider?: string): Model | undefined => {
    const scope = provider === undefined ? '' : `${provider}/`
    return loose.get(scope + looseKey(plain))
  }
  const readPlain = (plain: string, provider?: string): Model | undefined => {
    const found = find(plain, provider)
    if (found !== undefined) return found
    const [, base, date] = dated.exec(plain) ?? []
    const family = base === undefined ? undefined : find(base, provider)
    return family && snapshotOf(family, `${family.row.upstream_model}-${date}`, false)
  }
  return {
    /** Models by id, alias and snapshot, and by the id without its provider if unambiguous. */
    exact,
    /** Finds a model by a name in another spelling (docs/behaviour.md#names-and-defaults). */
    read: (name: string): Model | undefined => {
      let plain = plainName(name)
      if (plain === undefined) return undefined
      let found = readPlain(plain)
      // A name has at most two prefixes, as in `google/models/…`.
      for (let step = 0; step < 2 && found === undefined; step++) {
        const slash = plain.indexOf('/')
        const provider = providers.get(plain.slice(0, slash))
        if (slash < 0 || provider === undefined) return undefined
        plain = plain.slice(slash + 1)
        found = readPlain(plain, provider)
      }
      return found
    },
  }
}

/** Date and version suffixes of vendors: `-2025-08-07`, `-20250929`, `-0709`, `-001`, `-latest`. */
const dated =
  /^(.+?)[-@](latest|(?:preview-)?(?:\d{4}-\d{2}-\d{2}|\d{2}-\d{2}|\d{8}|\d{6}|\d{4}|\d{3}))$/

/** One key for all spellings of a name: lower case; dots, spaces and underscores are dashes. */
function looseKey(name: string): string {
  return name.toLowerCase().replaceAll(/[._ ]/g, '-')
}

function exactNames(models: readonly Model[]): Map<string, Model> {
  const names = new Map<string, Model>()
  const short = new Map<string, Model | undefined>()
  for (const model of models) {
    const { id, aliases = [], snapshots = [] } = model.row
    for (const name of [id, ...aliases]) names.set(name, model)
    for (const name of snapshots) names.set(name, snapshotOf(model, name, true))
    const tail = tailOf(id)
    short.set(tail, short.has(tail) ? undefined : model)
  }
  for (const [name, model] of short) {
    if (model !== undefined && !names.has(name)) names.set(name, model)
  }
  return names
}

/** Models by loose key, with and without provider; undefined for an ambiguous key. */
function looseNames(models: readonly Model[]): Map<string, Model | undefined> {
  const names = new Map<string, Model | undefined>()
  const strong = new Set<string>()
  const add = (key: string, model: Model, isOwn: boolean) => {
    const known = names.get(key)
    if (known?.row.id === model.row.id && known.row.upstream_model === model.row.upstream_model) {
      return
    }
    // A name in the catalog takes precedence over the same name at a vendor.
    if (strong.has(key) && !isOwn) return
    names.set(key, names.has(key) && strong.has(key) === isOwn ? undefined : model)
    if (isOwn) strong.add(key)
  }
  const addBoth = (name: string, model: Model, isOwn: boolean) => {
    for (const key of new Set([looseKey(name), looseKey(tailOf(name))])) {
      add(key, model, isOwn)
      add(`${model.row.provider}/${key}`, model, isOwn)
    }
  }
  for (const model of models) {
    if (model.undescribed) continue
    const { id, aliases = [], snapshots = [], upstream_model: upstream } = model.row
    for (const name of [id, ...aliases]) addBoth(name, model, true)
    for (const name of snapshots) addBoth(name, snapshotOf(model, name, true), true)
    addBoth(upstream, model, false)
  }
  return names
}

function tailOf(id: string): string {
  return id.slice(id.indexOf('/') + 1)
}

/**
 * A dated version of a model, requested from the vendor by its dated name. It has the model's
 * capabilities; its price is doubtful unless the catalog lists the version.
 */
function snapshotOf({ row, undescribed }: Model, upstreamModel: string, isListed: boolean): Model {
  const doubtful = isListed ? row.doubtful : [...(row.doubtful ?? []), 'pricing' as const]
  const dated = { ...row, upstream_model: upstreamModel, ...(doubtful && { doubtful }) }
  return { row: dated, prices: readPrices(dated), undescribed }
}

/** Models by the loose key of a name that its vendor has switched off; from the pages of the vendors. */
const successors = new Map(Object.entries(retired).map(([name, next]) => [looseKey(name), next]))

/** The id of the model to use in place of one that its vendor has switched off. */
export function successorOf(name: string): string | undefined {
  const key = looseKey(name.trim())
  const own = key.slice(key.lastIndexOf('/') + 1)
  return successors.get(own) ?? successors.get(dated.exec(own)?.[1] ?? '')
}

/** Maximum difference in length of similar names; `nearName` allows as many typing errors. */
const lettersMax = 3

/** The successor of an unknown name, or the existing name that is closest; undefined if no name is close. */
export function nearModel(name: string, models: readonly Model[]): string | undefined {
  const next = successorOf(name)
  if (models.some(({ row }) => row.id === next)) return next
  const plain = name.trim().toLowerCase()
  const names = models
    .flatMap(({ row: { id, aliases = [] } }) => [id, id.slice(id.indexOf('/') + 1), ...aliases])
    .filter((name) => Math.abs(name.length - plain.length) <= lettersMax)
  const digits = digitsOf(plain)
  // Prefers names with the same digits, since letters are mistyped more often than digits.
  const sameVersion = names.filter((name) => digitsOf(name) === digits)
  return nearName(plain, sameVersion) ?? nearName(plain, names)
}

function digitsOf(name: string): string {
  return name.replaceAll(/\D/g, '')
}
