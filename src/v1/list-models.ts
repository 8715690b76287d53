import type { components } from '../../generated/types.ts'
import { type Catalog, toModel } from '../core/model.ts'
import type { RouteTable } from '../core/route.ts'
import type { Operation } from '../http/operation.ts'
import { modelPage, sendsVersion } from './messages/models.ts'

type Schemas = components['schemas']
type Options = { catalog: Catalog; routes: RouteTable }

/** GET /v1/models */
export function listModels({ catalog, routes }: Options): Operation<'listModels'> {
  return async ({ query, caller, request }) => {
    const isForMessages = sendsVersion(request)
    const filter = {
      includeDeactivated: query.include_deactivated ?? false,
      excludeDeprecated: query.exclude_deprecated ?? false,
      family: query.family,
      limit: isForMessages ? undefined : query.limit,
    }
    const { models } = catalog.list(filter, (model) => routes.usable(model, caller))
    if (isForMessages) return { status: 200, json: modelPage(models, query), mayBeCoded: true }
    const json: Schemas['ModelList'] = { object: 'list', data: models.map(toModel) }
    return { status: 200, json, mayBeCoded: true }
  }
}
