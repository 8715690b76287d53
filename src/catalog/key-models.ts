import type { Caller } from '../core/caller.ts'
import { GatewayError } from '../core/error.ts'
import type { Model } from '../core/model.ts'

/** Which models a key may call. */
export type KeyModels = {
  mayUse(model: Model, caller: Caller): boolean
  /** Throws `model_not_allowed`. */
  check(model: Model, caller: Caller): void
}

/**
 * Judges by the id of the model, by whatever name it is asked for and listed; `idOf` gives the id of
 * a name, or the name itself.
 */
export function createKeyModels(idOf: (name: string) => string): KeyModels {
  // A list lives as long as its caller.
  const known = new WeakMap<readonly string[], ReadonlySet<string>>()
  const idsOf = (models: readonly string[]) => {
    let ids = known.get(models)
    if (ids === undefined) known.set(models, (ids = new Set(models.map(idOf))))
    return ids
  }
  const mayUse = ({ row }: Model, { models }: Caller): boolean =>
    models === null || models.includes(row.id) || idsOf(models).has(row.id)
  return {
    mayUse,
    check: (model, caller) => {
      if (mayUse(model, caller)) return
      throw new GatewayError(
        'model_not_allowed',
        `This API key may not use the model '${model.row.id}'. Choose another model or another key.`,
        { param: 'model', progress: { model: model.row } },
      )
    },
  }
}
