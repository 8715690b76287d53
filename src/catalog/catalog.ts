import { readdirSync, readFileSync } from 'node:fs'
import { LRUCache } from 'lru-cache'
import { schemaChecks } from '../../generated/checks.js'
import { GatewayError } from '../core/error.ts'
import type { Catalog, CatalogModel, Model } from '../core/model.ts'
import { readPrices } from '../core/price.ts'

export type CatalogOptions = {
  rows: readonly CatalogModel[]
  /** Endpoints whose models are not in the catalog; `*` accepts any model name. */
  undescribed: readonly { provider: string; models: '*' | readonly string[] }[]
  aliases: Readonly<Record<string, string>>
  defaultImageModel: string
  clock: () => number
}

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

const recentModelsMax = 1000

export function createCatalog(options: CatalogOptions): Catalog {
  const { rows, undescribed, aliases, defaultImageModel, clock } = options
  const listed = undescribed.flatMap(({ provider, models }) =>
    models === '*' ? [] : models.map((name) => undescribedModel(provider, name)),
  )
  const described = rows.map((row) => ({
    row,
    prices: readPrices(row),
    undescribed: false,
  }))
  const models: Model[] = [...described, ...listed]
  const byName = namesOf(models)
  // Callers may ask for any name: only the most recently used models are kept.
  const recent = new LRUCache<string, Model>({ max: recentModelsMax })

  const lookUp = (name: string): Model | undefined => {
    const known = byName.get(name) ?? recent.get(name)
    if (known !== undefined) return known
    const [provider = '', ...rest] = name.split('/')
    const open = undescribed.some((one) => one.provider === provider && one.models === '*')
    const upstreamModel = rest.join('/')
    if (!open || upstreamModel === '') return undefined
    const model = undescribedModel(provider, upstreamModel)
    recent.set(name, model)
    return model
  }

  const find: Catalog['find'] = (name) => {
    const alias = Object.hasOwn(aliases, name) ? aliases[name] : undefined
    const asked = name === 'auto' ? defaultImageModel : (alias ?? name)
    const model = lookUp(asked)
    if (model === undefined) {
      throw new GatewayError(
        'model_not_found',
        `There is no model '${name.slice(0, 200)}'. GET /v1/models lists the models.`,
        { param: 'model' },
      )
    }
    if (statusAt(model.row, clock()) !== 'deactivated') return { model, warnings: [] }
    const { successor, deactivated_at: date } = model.row
    if (successor === undefined) {
      throw new GatewayError(
        'model_deactivated',
        `The model '${model.row.id}' was deactivated${date ? ` on ${date}` : ''}. Choose another one.`,
        { param: 'model' },
      )
    }
    const next = find(successor)
    const reason = `${model.row.id} was deactivated; its successor answers.`
    const warning = { param: 'model', requested: name, applied: successor, reason }
    return { ...next, warnings: [warning, ...next.warnings] }
  }

  return {
    find,
    list: ({ includeDeactivated, excludeDeprecated, family, limit }, usable) => {
      const now = clock()
      const passing = models
        .map((model) => ({ ...model, row: { ...model.row, status: statusAt(model.row, now) } }))
        .filter(({ row }) => includeDeactivated || row.status !== 'deactivated')
        .filter(({ row }) => !excludeDeprecated || row.status !== 'deprecated')
        .filter(({ row }) => !family || row.family === family || row.provider === family)
        .filter(usable)
      return { models: passing.slice(0, limit), total: passing.length }
    },
  }
}

/** The status of a row at a Unix time in milliseconds: announced dates take effect on their own. */
export function statusAt(row: CatalogModel, nowMs: number): CatalogModel['status'] {
  const past = (date: string | undefined) => date !== undefined && Date.parse(date) <= nowMs
  if (row.status === 'deactivated' || past(row.deactivated_at)) return 'deactivated'
  return row.status === 'deprecated' || past(row.deprecated_at) ? 'deprecated' : 'active'
}

/** Models by id and alias, and by id without its provider where that is unambiguous. */
function namesOf(models: readonly Model[]): Map<string, Model> {
  const names = new Map<string, Model>()
  const short = new Map<string, Model | undefined>()
  for (const model of models) {
    for (const name of [model.row.id, ...(model.row.aliases ?? [])]) names.set(name, model)
    const tail = model.row.id.slice(model.row.id.indexOf('/') + 1)
    short.set(tail, short.has(tail) ? undefined : model)
  }
  for (const [name, model] of short) {
    if (model !== undefined && !names.has(name)) names.set(name, model)
  }
  return names
}

/** A model that is not in the catalog: any chat feature may work, and no price is known. */
function undescribedModel(provider: string, name: string): Model {
  const capabilities = {
    chat: true,
    streaming: true,
    tools: true,
    vision: true,
    reasoning: true,
    image_generation: false,
    image_edit: false,
  }
  const row: CatalogModel = {
    id: `${provider}/${name}`,
    provider,
    upstream_model: name,
    name,
    family: provider,
    status: 'active',
    input_modalities: ['text'],
    output_modalities: ['text'],
    capabilities,
    pricing: {},
  }
  return { row, prices: readPrices({ pricing: {} }), undescribed: true }
}
