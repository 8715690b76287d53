import type { components } from '../../generated/types.ts'
import type { ErrorCode } from './error.ts'
import type { Prices } from './price.ts'

type Schemas = components['schemas']
export type CatalogModel = Schemas['CatalogModel']
export type ImageAbilities = Schemas['ImageAbilities']

/** A model as the core knows it: a catalog row, or one made up for an endpoint that takes any model. */
export type Model = {
  row: CatalogModel
  prices: Prices
  /** Nobody has described this model, so nothing can be said about what it takes. */
  undescribed: boolean
}

export type Warning = { param: string; requested: unknown; applied: unknown; reason: string }

/** A reason why a route cannot do what was asked. */
export type Problem = {
  param: string
  message: string
  /** What the caller is told; `model_capability_mismatch` unless it says otherwise. */
  code?: ErrorCode
}

/** Which models a list shows; the same for every face. */
export type ModelFilter = {
  includeDeactivated?: boolean
  excludeDeprecated?: boolean
  /** A family or a provider. */
  family?: string | undefined
  limit?: number | undefined
}

/** The models that there are, by name. */
export type Catalog = {
  /**
   * The model behind an id, an alias, `auto`, or an id without its provider where that is
   * unambiguous. Throws `model_not_found` or `model_deactivated`.
   */
  find(name: string): { model: Model; warnings: Warning[] }
  /** The models that pass the filter, in the catalog's order, and how many there are in all. */
  list(filter: ModelFilter, usable: (model: Model) => boolean): { models: Model[]; total: number }
}

/** What an adapter is told of a route: the model, and under which name which provider has it. */
export type Target = {
  model: Model
  provider: { id: string }
  /** The model's name at the provider. */
  upstreamModel: string
}

/** Whether pictures are what this model makes. */
export function makesImages({ row }: Model): boolean {
  return row.capabilities.image_generation || row.capabilities.image_edit
}
