import { type Catalog, toModel } from '../core/model.ts'
import type { RouteTable } from '../core/route.ts'
import type { Operation } from '../http/operation.ts'
import { messagesModel, sendsVersion } from './messages/models.ts'

type Options = { catalog: Pick<Catalog, 'describe'>; routes: Pick<RouteTable, 'model'> }

/** GET /v1/models/{model} */
export function retrieveModel({ catalog, routes }: Options): Operation<'retrieveModel'> {
  return async ({ path, caller, request }) => {
    const model = catalog.describe(await routes.model(path.model, caller))
    const json = sendsVersion(request) ? messagesModel({ id: model.row.id, model }) : toModel(model)
    return { status: 200, json }
  }
}
