import type { Catalog } from '../core/model.ts'
import type { Operation } from '../http/operation.ts'
import { toModel } from './model.ts'

type Options = { catalog: Pick<Catalog, 'find'> }

/** GET /v1/models/{model} */
export function retrieveModel({ catalog }: Options): Operation<'retrieveModel'> {
  return async ({ path }) => ({ status: 200, json: toModel(catalog.find(path.model).model) })
}
