import type { components } from '../../generated/types.ts'
import type { Caller } from './caller.ts'
import type { Prices } from './money/price.ts'
import { shortened, GatewayError, type ErrorCode } from './error.ts'

type Schemas = components['schemas']
export type CatalogModel = Schemas['CatalogModel']
export type ImageAbilities = Schemas['ImageAbilities']

/** A catalog row with its prices, or a generated row for an endpoint that takes any model name. */
export type Model = {
  row: CatalogModel
  prices: Prices
  /** The model is not in the catalog: its abilities are unknown, so requests are not checked. */
  undescribed: boolean
}

/** The name of the schema that checks the `image_config` of a provider group. */
export type ImageConfigSchema = Extract<keyof Schemas, `ImageConfig${string}`>

/** What the APIs of the gateway need to know of the vendor of a model. */
export type VendorFacts = {
  imageConfig: ImageConfigSchema
  /** Whether the vendor makes pictures in chats. */
  takesImageConfig: boolean
  takesCustomTools: boolean
  /** Whether the vendor has no chats. */
  onlyPictures: boolean
  /** The API of the gateway that the vendor has too. */
  nativeApi: 'messages' | 'responses' | undefined
}

/** A requested model, found in memory; `error` is the reason if the name is not known there. */
export type FoundModel = { name: string } & (
  | { model: Model; vendor: VendorFacts; warnings: readonly Warning[]; error?: undefined }
  | { model?: undefined; vendor?: undefined; error: GatewayError }
)
export type FoundModels = readonly [FoundModel, ...FoundModel[]]
/** Finds a model by name in memory. */
export type FindModel = (name: string, caller: Caller) => FoundModel

/** A request for the core, and the models that may answer it, in order. */
export type CallInputs<Request> = { request: Request; models: FoundModels }

/** The models of a request, in order. */
export function modelsOf(
  { model, models }: { model: string; models?: readonly string[] | null | undefined },
  caller: Caller,
  find: FindModel,
): FoundModels {
  const fallbacks = (models ?? []).map((name) => find(name, caller))
  return [find(model, caller), ...fallbacks]
}

/** Throws a GatewayError unless all fallback models produce the same modality as the first. */
export function checkFallbacks(models: FoundModels, makesPictures: boolean): void {
  for (const [index, { model }] of models.entries()) {
    if (index === 0 || model === undefined || model.undescribed) continue
    const made = modalityOf(model)
    if (made === (makesPictures ? 'image' : 'chat')) continue
    const message = makesPictures
      ? `${model.row.id} makes no images. Fallbacks of an image model must be image models.`
      : `${model.row.id} makes ${made}s. Fallbacks of a language model must be language models.`
    throw new GatewayError('invalid_value', message, { param: `models[${index - 1}]` })
  }
}

/** A parameter that was adjusted; `applied` is null when it was dropped. */
export type Warning = { param: string; requested: unknown; applied: unknown; reason: string }

/** The warning for a parameter that is not sent. */
export function dropped(param: string, requested: unknown, reason: string): Warning {
  return { param, requested, applied: null, reason }
}

/** Warnings with the caller's names for their parameters. */
export function withNames(
  warnings: readonly Warning[],
  nameOf: (param: string) => string,
): Warning[] {
  return warnings.map((one) => ({ ...one, param: nameOf(one.param) }))
}

/** A reason why a route does not support a request. */
export type Problem = {
  param: string
  message: string
  /** The message for callers of tools; `message` when absent. */
  toolMessage?: string
  /** Defaults to `model_capability_mismatch`. */
  code?: ErrorCode
}

/** Filters for the list of models. */
type ModelFilter = {
  includeDeactivated?: boolean
  excludeDeprecated?: boolean
  /** The name of a family or of a provider. */
  family?: string | undefined
  limit?: number | undefined
}

/** All models, found by name. */
export type Catalog = {
  /**
   * The model of an id, an alias, a snapshot, `auto`, or a name that is common elsewhere
   * (docs/behaviour.md#names-and-defaults). Throws `model_not_found` or `model_deactivated`.
   */
  find(name: string): { model: Model; warnings: Warning[] }
  /** The names that the operator gave to models, besides those of the catalog. */
  aliases: readonly string[]
  get(id: string): Model | undefined
  /** The model with its current status and prices, announced price changes, and the operator's aliases. */
  describe(model: Model): Model
  /** The models that pass the filter, in catalog order; `total` is their number without `limit`. */
  list(filter: ModelFilter, usable: (model: Model) => boolean): { models: Model[]; total: number }
}

/** The model of a route, for its adapter. */
export type Target = {
  model: Model
  provider: { id: string }
  /** The model's name in the provider's API. */
  upstreamModel: string
}

/** Whether the model generates or edits pictures. */
export function makesImages({ row }: Model): boolean {
  return row.capabilities.image_generation || row.capabilities.image_edit
}

/** Whether the model makes embedding vectors. */
export function makesEmbeddings({ row }: Model): boolean {
  return row.embedding !== undefined
}

/** Whether the model classifies texts as harmful or not. */
export function makesModerations({ row }: Model): boolean {
  return row.output_modalities.includes('moderation')
}

/** What the model answers with. */
export function modalityOf(model: Model): Schemas['CallModality'] {
  if (makesEmbeddings(model)) return 'embedding'
  if (makesModerations(model)) return 'moderation'
  return makesImages(model) ? 'image' : 'chat'
}

/** What a request for images may contain; null for a model that makes none. */
export type ImageFormOf = (model: Model) => Schemas['ImageForm'] | null

/** A model in the form of the contract, where unknown values are null; `id` may be an alias of it. */
export function toModel(
  model: Model,
  imageFormOf: ImageFormOf,
  id = model.row.id,
): Schemas['Model'] {
  const { row } = model
  return {
    id,
    object: 'model',
    created: row.released_at === undefined ? 0 : Date.parse(row.released_at) / 1000,
    owned_by: row.provider,
    name: row.name,
    family: row.family,
    status: row.status,
    aliases: row.aliases ?? [],
    alias_of: id === row.id ? null : row.id,
    input_modalities: row.input_modalities,
    output_modalities: row.output_modalities,
    capabilities: row.capabilities,
    context_window: row.context_window ?? null,
    max_output_tokens: row.max_output_tokens ?? null,
    pricing: row.pricing,
    price_changes: row.price_changes ?? [],
    image: row.image ?? null,
    image_form: imageFormOf(model),
    embedding: row.embedding ?? null,
    deprecated_at: row.deprecated_at ?? null,
    deactivated_at: row.deactivated_at ?? null,
    successor: row.successor ?? null,
  }
}

/** Maximum number of warnings, since a request may contain thousands of ignored fields. */
const warningsMax = 100
const textLengthMax = 300
const reasonLengthMax = 1000
/** A list or an object with more values is not quoted. */
const valuesMax = 50

/** Concatenates two lists of warnings; returns the first list itself when the second is empty. */
export function joined(warnings: readonly Warning[], more: readonly Warning[]): readonly Warning[] {
  return more.length === 0 ? warnings : [...warnings, ...more]
}

/**
 * Shortens warnings before they are returned and cached. They quote the request, which may be megabytes:
 * values and reasons are cut, and warnings after the hundredth are only counted.
 */
export function shortenedWarnings(warnings: readonly Warning[]): readonly Warning[] {
  if (warnings.length === 0) return warnings
  const shown = warnings.slice(0, warningsMax).map(({ param, requested, applied, reason }) => ({
    param: shortened(param, textLengthMax),
    requested: shortValue(requested),
    applied: shortValue(applied),
    reason: shortened(reason, reasonLengthMax),
  }))
  if (warnings.length <= warningsMax) return shown
  const reason = `There are ${warnings.length} warnings; only the first ${warningsMax} are listed.`
  const rest = { param: 'warnings', requested: warnings.length, applied: warningsMax, reason }
  return [...shown, rest]
}

function shortValue(value: unknown): unknown {
  if (typeof value === 'string') return shortened(value, textLengthMax)
  return isSmall(value, { values: valuesMax }) ? value : 'too large to be repeated'
}

/** Whether a value has few members and short texts; visits at most `left.values` members. */
function isSmall(value: unknown, left: { values: number }): boolean {
  if (left.values-- <= 0) return false
  if (typeof value === 'string') return value.length <= textLengthMax
  if (typeof value !== 'object' || value === null) return true
  for (const name in value) {
    if (!Object.hasOwn(value, name)) continue
    const inner = (value as Readonly<Record<string, unknown>>)[name]
    if (name.length > textLengthMax || !isSmall(inner, left)) return false
  }
  return true
}
