import { isMembers } from '../core/any-json.ts'
import { catalogModelCheck } from '../../generated/settings-check.js'
import type { CatalogModel } from '../core/model.ts'
import { nearName } from '../core/words/near-name.ts'
import { readPrices } from '../core/money/price.ts'
import { createNames, type NamePrefixes } from './names.ts'
import { complaintsAboutRow } from './row-complaints.ts'
import { capabilitiesOf, undescribedModel } from './undescribed.ts'

/** The operator's changes by model name: members of a catalog row; null removes a member. */
export type OwnEntries = Readonly<Record<string, Readonly<Record<string, unknown>>>>

type Members = Readonly<Record<string, unknown>>
type SchemaError = NonNullable<typeof catalogModelCheck.errors>[number]

type Options = {
  rows: readonly CatalogModel[]
  entries: OwnEntries
  /** Prefixes of model names besides the provider id, by provider id. */
  prefixes: NamePrefixes
  endpointIds: readonly string[]
}

/** The catalog's rows with the operator's changes, followed by the operator's own models. */
export function ownRows({ rows, entries, prefixes, endpointIds }: Options) {
  const models = rows.map((row) => ({ row, prices: readPrices(row), undescribed: false }))
  const names = createNames(models, prefixes)
  const providerIds = [...Object.keys(prefixes), ...endpointIds]
  const byId = new Map(rows.map((row) => [row.id, row]))
  /** Ids of the operator's models without capabilities. */
  const undescribed = new Set<string>()
  /** Schema violations; `instancePath` is the path in gateway.yaml. */
  const errors: SchemaError[] = []
  /** Errors that the schema cannot express; `path` is the path in gateway.yaml. */
  const complaints: { path: string[]; text: string }[] = []
  const own = new Map<string, CatalogModel>()
  const nameOf = new Map<string, string>()

  for (const [name, entry] of Object.entries(entries)) {
    const path = ['catalog', name]
    const known = byId.get(names.exact.get(name)?.row.id ?? '')
    const base = known ?? newRow(name, entry, providerIds)
    if (base === undefined) {
      const meant = names.read(name)?.row.id ?? nearName(name, [...byId.keys()])
      complaints.push({ path, text: nothingSuch(meant) })
      continue
    }
    const row: unknown = structuredClone(merged(base, entry))
    if (!catalogModelCheck(row)) {
      errors.push(...(catalogModelCheck.errors ?? []).map((error) => placed(error, name)))
      continue
    }
    if (own.has(row.id))
      complaints.push({ path, text: `'${row.id}' has two entries. Make them one.` })
    own.set(row.id, row)
    nameOf.set(row.id, name)
    const isDescribed = 'capabilities' in entry || 'embedding' in entry
    if (known === undefined && !isDescribed) undescribed.add(row.id)
  }
  const all = [...rows.filter(({ id }) => !own.has(id)), ...own.values()]
  for (const row of own.values())
    for (const { members, text } of complaintsAboutRow(row, all, providerIds))
      complaints.push({ path: ['catalog', nameOf.get(row.id)!, ...members], text })
  const changed = rows.map((row) => own.get(row.id) ?? row)
  const added = [...own.values()].filter(({ id }) => !byId.has(id))
  return { rows: [...changed, ...added], undescribed, errors, complaints }
}

/** A row for a new model; undefined if neither its name nor its entry names a provider. */
function newRow(name: string, entry: Members, providerIds: readonly string[]) {
  const slash = name.indexOf('/')
  const { provider = name.slice(0, Math.max(0, slash)), upstream_model: upstream } = entry
  const isNamed = typeof provider === 'string' && providerIds.includes(provider)
  if (!isNamed && !('provider' in entry)) return undefined
  const upstreamModel = typeof upstream === 'string' ? upstream : name.slice(slash + 1)
  const { row } = undescribedModel(String(provider), upstreamModel)
  const own = { ...row, id: name, name: upstreamModel }
  return 'embedding' in entry ? { ...own, ...embeds } : { ...own, ...modalitiesOf(entry) }
}

/** The abilities of a new embedding model. */
const embeds: Pick<CatalogModel, 'output_modalities' | 'capabilities'> = {
  output_modalities: ['embedding'],
  capabilities: capabilitiesOf({ chats: false }),
}

/** Input and output modalities derived from an entry's capabilities. */
function modalitiesOf({ capabilities }: Members): Partial<CatalogModel> {
  if (typeof capabilities !== 'object' || capabilities === null) return {}
  const can = (what: string) => (capabilities as Members)[what] === true
  const draws = can('image_generation') || can('image_edit')
  const sees = (capabilities as Members)['vision'] !== false || can('image_edit')
  return {
    input_modalities: sees ? ['text', 'image'] : ['text'],
    output_modalities: draws ? ['image'] : ['text'],
  }
}

/** A row with an entry's members; `pricing` and `capabilities` are merged member by member. */
function merged(base: CatalogModel, entry: Members): Members {
  const { pricing, capabilities, ...more } = entry
  return withoutNulls({
    ...base,
    // Removes announced price changes, which apply to the vendor's prices, not to the operator's prices.
    ...('pricing' in entry ? { price_changes: undefined } : {}),
    doubtful: base.doubtful?.filter((what) => !(what in entry)),
    ...more,
    pricing: membersOf(besideOwn(base.pricing, pricing), pricing),
    capabilities: membersOf(base.capabilities, capabilities),
    id: base.id,
  })
}

/** The catalog's prices that still apply besides the operator's prices. */
function besideOwn(base: CatalogModel['pricing'], own: unknown): Members {
  if (typeof own !== 'object' || own === null) return base
  const { input_per_million_tokens: input } = own as Members
  const prices: Record<string, unknown> = { ...base }
  // Prices per picture of the operator are no estimates.
  if ('per_image' in own) delete prices['per_image_is_estimate']
  for (const name of ['image_input_per_million_tokens', 'audio_input_per_million_tokens']) {
    const isText = name in prices && prices[name] === base.input_per_million_tokens
    if (isText && input !== undefined) prices[name] = input
  }
  return prices
}

/** The merged members of two objects. A value that is no object is kept, for the schema check to report. */
function membersOf(base: object, own: unknown): unknown {
  if (own === undefined) return base
  return isMembers(own) ? withoutNulls({ ...base, ...own }) : own
}

function withoutNulls(members: Members): Members {
  const kept = Object.entries(members).filter(([, value]) => value !== null && value !== undefined)
  return Object.fromEntries(kept)
}

function placed(error: SchemaError, name: string): SchemaError {
  const place = name.replaceAll('~', '~0').replaceAll('/', '~1')
  return { ...error, instancePath: `/catalog/${place}${error.instancePath}` }
}

function nothingSuch(meant: string | undefined): string {
  const near = meant === undefined ? '' : ` Did you mean '${meant}'?`
  return (
    `this model is not in the catalog.${near} ` +
    "Name a new model '<provider>/<upstream model>'; the provider is a vendor or an id in providers."
  )
}
