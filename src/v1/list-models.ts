import type { components } from '../../generated/types.ts'
import { type Catalog, type ImageFormOf, toModel } from '../core/model.ts'
import type { RouteTable } from '../core/route.ts'
import type { Operation } from '../http/operation.ts'
import { messagesModel, modelPage, sendsVersion } from './messages/models.ts'

type Schemas = components['schemas']
type Options = { catalog: Catalog; routes: RouteTable; imageFormOf: ImageFormOf }

/** GET /v1/models */
export function listModels({ catalog, routes, imageFormOf }: Options): Operation<'listModels'> {
  return async ({ query, caller, request }) => {
    const isForMessages = sendsVersion(request)
    const filter = {
      includeDeactivated: query.include_deactivated ?? false,
      excludeDeprecated: query.exclude_deprecated ?? false,
      family: query.family,
      limit: isForMessages ? undefined : query.limit,
    }
    const { models } = catalog.list(filter, (model) => routes.usable(model, caller))
    if (isForMessages) {
      const listed = new Map(models.map((model) => [model.row.id, { id: model.row.id, model }]))
      // Claude Code offers a model only under a name with `claude`, which may be an alias.
      for (const id of catalog.aliases) {
        const { model } = routes.find(id, caller)
        if (model === undefined || listed.has(id) || !routes.usable(model, caller)) continue
        const isUnlisted = model.undescribed && query.family === undefined
        if (listed.has(model.row.id) || isUnlisted) listed.set(id, { id, model })
      }
      return { status: 200, json: modelPage([...listed.values()], query), mayBeCoded: true }
    }
    // A model in the list for Codex would lose the instructions that Codex has for it.
    const forCodex = query.client_version === undefined ? {} : { models: [] }
    const data = models.map((model) => toModel(model, imageFormOf))
    const json: Schemas['ModelList'] = { object: 'list', data, ...forCodex }
    return { status: 200, json, mayBeCoded: true }
  }
}

/** GET /v1/models/{model} */
export function retrieveModel({
  catalog,
  routes,
  imageFormOf,
}: Options): Operation<'retrieveModel'> {
  return async ({ path, caller, request }) => {
    const model = catalog.describe(await routes.model(path.model, caller))
    const json = sendsVersion(request)
      ? messagesModel({ id: model.row.id, model })
      : toModel(model, imageFormOf)
    return { status: 200, json }
  }
}
