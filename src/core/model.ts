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

/** Whether pictures are what this model makes. */
export function makesImages({ row }: Model): boolean {
  return row.capabilities.image_generation || row.capabilities.image_edit
}
