import { readdirSync, readFileSync } from 'node:fs'
import { LRUCache } from 'lru-cache'
import { schemaChecks } from '../../generated/checks.js'
import { GatewayError } from '../core/error.ts'
import { ModelNotFound } from '../core/words/model-not-found.ts'
import type { Catalog, CatalogModel, Model } from '../core/model.ts'
import { pricesAt, readPrices } from '../core/money/price.ts'
import { createNames, plainName, successorOf, type NamePrefixes, type Names } from './names.ts'
import { ownRows, type OwnEntries } from './own-rows.ts'
import { undescribedModel } from './undescribed.ts'

export type CatalogOptions = {
  rows: readonly CatalogModel[]
  /** Ids of rows that do not state the model's capabilities. */
  undescribedIds?: ReadonlySet<string>
  /** Endpoints whose models are not in the catalog; `*` accepts any model name. */
  undescribed: readonly ({ provider: string; models: '*' | readonly string[] } & Related)[]
  aliases: Readonly<Record<string, string>>
  /** Prefixes of model names besides the provider id, such as `qwen` for `alibaba`. */
  prefixes: NamePrefixes
  defaultImageModel: string
  clock: () => number
}

/** The provider whose described models an endpoint also has, under their names. */
type Related = { modelsOf?: string | undefined }

/** Reads the catalog's data, one file per provider. Throws when a row violates the schema. */
export function readCatalogRows(): CatalogModel[] {
  const folder = new URL('./models/', import.meta.url)
  return readdirSync(folder)
    .sort()
    .flatMap((name) => {
      const file: unknown = JSON.parse(readFileSync(new URL(name, folder), 'utf8'))
      if (schemaChecks.CatalogFile(file)) return file.models
      const [error] = schemaChecks.CatalogFile.errors ?? []
      throw new Error(`Catalog file ${name}: ${error?.instancePath} ${error?.message}.`)
    })
}

type Configured = Omit<CatalogOptions, 'undescribedIds' | 'undescribed'> & {
  /** The operator's prices and models, already validated. */
  catalog: OwnEntries
  endpoints: readonly ({ id: string; models: '*' | readonly string[] | 'catalog' } & Related)[]
}

/** The catalog with the endpoints, aliases and defaults of the operator. */
export function configuredCatalog({ endpoints, catalog, ...options }: Configured): Catalog {
  const undescribed = endpoints.flatMap(({ id, models, modelsOf }) =>
    models === 'catalog' ? [] : { provider: id, models, modelsOf },
  )
  const own = configuredRows({ ...options, endpoints, catalog })
  return createCatalog({
    ...options,
    rows: own.rows,
    undescribedIds: own.undescribed,
    undescribed,
  })
}

/** The catalog's rows with the operator's changes applied. */
export function configuredRows({
  rows,
  catalog: entries,
  prefixes,
  endpoints,
}: Pick<Configured, 'rows' | 'catalog' | 'prefixes' | 'endpoints'>) {
  return ownRows({ rows, entries, prefixes, endpointIds: endpoints.map(({ id }) => id) })
}

const recentModelsMax = 1000

export function createCatalog(options: CatalogOptions): Catalog {
  const { rows, undescribed, aliases, prefixes, defaultImageModel, clock } = options
  const described = rows.map((row) => ({
    row,
    prices: readPrices(row),
    undescribed: options.undescribedIds?.has(row.id) ?? false,
  }))
  const ids = new Set(rows.map(({ id }) => id))
  const listed = undescribed.flatMap(({ provider, models }) =>
    models === '*' ? [] : models.map((name) => undescribedModel(provider, name)),
  )
  const models: Model[] = [...described, ...listed.filter(({ row }) => !ids.has(row.id))]
  const endpointIds = undescribed.map(({ provider }) => provider)
  const ownIds = new Set(endpointIds.filter((id) => !Object.hasOwn(prefixes, id)))
  const names = createNames(models, prefixes, ownIds)
  // Keeps only the most recently used models, since callers may ask for any name.
  const recent = new LRUCache<string, Model>({ max: recentModelsMax })

  const lookUp = (name: string): Model | undefined => {
    const found = names.exact.get(name) ?? recent.get(name)
    if (found !== undefined) return found
    const read = names.read(name)
    // A vendor that accepts any name may have rows too.
    const isRow = read !== undefined && name.startsWith(`${read.row.provider}/`)
    const model = isRow ? read : (openModel(name, undescribed, names) ?? read)
    if (model !== undefined) recent.set(name, model)
    return model
  }

  const ownNames = ['auto', ...Object.keys(aliases)]
  const aliasesById = Map.groupBy(ownNames.slice(1), (name) => lookUp(aliases[name]!)?.row.id)
  const describe = (model: Model, now: number) =>
    modelAt(model, now, aliasesById.get(model.row.id) ?? [])
  const find: Catalog['find'] = (name) => {
    const alias = Object.hasOwn(aliases, name) ? aliases[name] : undefined
    const target = name === 'auto' ? defaultImageModel : (alias ?? name)
    const model = lookUp(target)
    if (model === undefined) {
      const plain = plainName(name)
      const other = ownNames.find((one) => one !== name && plainName(one) === plain)
      if (alias === undefined && other !== undefined) return find(other)
      throw new ModelNotFound(name)
    }
    if (clock() < endOf(model.row)) return { model, warnings: [] }
    const { successor } = model.row
    if (successor === undefined) throw deactivated(model.row)
    const next = find(successor)
    const reason = `${model.row.id} was deactivated; its successor answers.`
    const warning = { param: 'model', requested: name, applied: successor, reason }
    return { ...next, warnings: [warning, ...next.warnings] }
  }

  return {
    find,
    aliases: ownNames.slice(1),
    get: lookUp,
    describe: (model) => describe(model, clock()),
    list: ({ includeDeactivated, excludeDeprecated, family, limit }, usable) => {
      const now = clock()
      const plain = family?.trim().toLowerCase()
      const passing = models
        .map((model) => describe(model, now))
        .filter(({ row }) => includeDeactivated || row.status !== 'deactivated')
        .filter(({ row }) => !excludeDeprecated || row.status !== 'deprecated')
        .filter(({ row }) => !plain || isOf(row, plain))
        .filter(usable)
      return { models: passing.slice(0, limit), total: passing.length }
    },
  }
}

/** The error for a model that its vendor has switched off, with the model to use instead. */
export function deactivated(
  row: Pick<CatalogModel, 'id' | 'deactivated_at'>,
  param = 'model',
  next = successorOf(row.id),
): GatewayError {
  const { id, deactivated_at: date } = row
  const remedy = next ? `Its successor is '${next}'.` : 'Choose another model.'
  const message = `The model '${id}' was deactivated${date ? ` on ${date}` : ''}. ${remedy}`
  return new GatewayError('model_deactivated', message, { param, progress: { model: row } })
}

/** A model of an endpoint that accepts any model name. */
function openModel(
  name: string,
  undescribed: CatalogOptions['undescribed'],
  names: Names,
): Model | undefined {
  if (plainName(name) === undefined) return undefined
  const [provider = '', ...rest] = name.split('/')
  const open = undescribed.find((one) => one.provider === provider && one.models === '*')
  const upstreamModel = rest.join('/')
  if (open === undefined || upstreamModel === '') return undefined
  const own = open.modelsOf && names.read(`${open.modelsOf}/${upstreamModel}`)
  if (!own || own.row.provider !== open.modelsOf) return undescribedModel(provider, upstreamModel)
  const { aliases: _aliases, snapshots: _snapshots, ...row } = own.row
  const id = `${provider}/${upstreamModel}`
  return { ...own, row: { ...row, id, provider, upstream_model: upstreamModel } }
}

/** Whether a lower-case name is the row's family or provider. */
function isOf({ family, provider }: CatalogModel, plain: string): boolean {
  return family.toLowerCase() === plain || provider.toLowerCase() === plain
}

/** Status of a row at a Unix time in milliseconds, by its `status` and its announced dates. */
export function statusAt(row: CatalogModel, nowMs: number): CatalogModel['status'] {
  const past = (date: string | undefined) => date !== undefined && Date.parse(date) <= nowMs
  if (row.status === 'deactivated' || past(row.deactivated_at)) return 'deactivated'
  return row.status === 'deprecated' || past(row.deprecated_at) ? 'deprecated' : 'active'
}

/** The Unix time, in milliseconds, when a model is deactivated. Cached, since each call reads it. */
function endOf(row: CatalogModel): number {
  let end = ends.get(row)
  if (end === undefined) {
    const { status, deactivated_at: date } = row
    end = status === 'deactivated' ? -Infinity : date === undefined ? Infinity : Date.parse(date)
    ends.set(row, end)
  }
  return end
}

const ends = new WeakMap<CatalogModel, number>()

/** A model at a Unix time in milliseconds: its status, its prices and future price changes; with more aliases. */
function modelAt(model: Model, nowMs: number, aliases: readonly string[]): Model {
  const { row, prices } = model
  const { price_changes: changes = [], ...rest } = row
  const begun = changes.findLast(({ from }) => Date.parse(from) <= nowMs)
  const ahead = changes.filter(({ from }) => Date.parse(from) > nowMs)
  return {
    ...model,
    row: {
      ...rest,
      status: statusAt(row, nowMs),
      pricing: begun?.pricing ?? row.pricing,
      ...(ahead.length === 0 ? {} : { price_changes: ahead }),
      ...(aliases.length > 0 && { aliases: [...new Set([...(row.aliases ?? []), ...aliases])] }),
    },
    prices: pricesAt(prices, nowMs),
  }
}
