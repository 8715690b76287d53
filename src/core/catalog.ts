import type { Caller } from './caller.ts'
import type { Model, Warning } from './model.ts'
import type { Route } from './route.ts'

/** Which models a list shows; the same for every face. */
export type ModelFilter = {
  includeDeactivated?: boolean
  excludeDeprecated?: boolean
  /** A family or a provider. */
  family?: string | undefined
  limit?: number | undefined
}

export type Catalog = {
  /**
   * The model behind an id, an alias, `auto`, or an id without its provider where that is
   * unambiguous. Throws `model_not_found` or `model_deactivated`.
   */
  find(name: string): { model: Model; warnings: Warning[] }
  /** The models that pass the filter, in the catalog's order, and how many there are in all. */
  list(filter: ModelFilter, usable: (model: Model) => boolean): { models: Model[]; total: number }
}

/** Which ways lead to a model, for whom. */
export type RouteTable = {
  /** The routes of the named models, in order. Throws a GatewayError when there are none. */
  routes(names: readonly string[], caller: Caller): { routes: Route[]; warnings: Warning[] }
  /** Whether this caller can have the model answer at all. */
  usable(model: Model, caller: Caller): boolean
}
