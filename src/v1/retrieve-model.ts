import { type Catalog, toModel } from '../core/model.ts'
import type { RouteTable } from '../core/route.ts'
import type { Operation } from '../http/operation.ts'

type Options = { catalog: Pick<Catalog, 'describe'>; routes: Pick<RouteTable, 'model'> }

/** GET /v1/models/{model} */
export function retrieveModel({ catalog, routes }: Options): Operation<'retrieveModel'> {
  return async ({ path, caller }) => {
    const model = await routes.model(path.model, caller)
    return { status: 200, json: toModel(catalog.describe(model)) }
  }
}
