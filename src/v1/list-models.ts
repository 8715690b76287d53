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
    const filter = {
      includeDeactivated: query.include_deactivated ?? false,
      excludeDeprecated: query.exclude_deprecated ?? false,
      family: query.family,
    }
    const { models } = catalog.list(filter, (model) => routes.usable(model, caller))
    const listed = new Map(models.map((model) => [model.row.id, { id: model.row.id, model }]))
    // Clients offer only ids of the list, and Claude Code only those with `claude`: an alias is an entry.
    for (const id of catalog.aliases) {
      const { model } = routes.find(id, caller)
      if (model === undefined || listed.has(id) || !routes.usable(model, caller)) continue
      const isUnlisted = model.undescribed && query.family === undefined
      const described = listed.get(model.row.id)?.model ?? (isUnlisted && catalog.describe(model))
      if (described) listed.set(id, { id, model: described })
    }
    const entries = [...listed.values()]
    if (sendsVersion(request))
      return { status: 200, json: modelPage(entries, query), mayBeCoded: true }
    // A model in the list for Codex would lose the instructions that Codex has for it.
    const forCodex = query.client_version === undefined ? {} : { models: [] }
    const shown = entries.slice(0, query.limit)
    const data = shown.map(({ id, model }) => toModel(model, imageFormOf, id))
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
    const id = catalog.aliases.includes(path.model) ? path.model : model.row.id
    const json = sendsVersion(request)
      ? messagesModel({ id, model })
      : toModel(model, imageFormOf, id)
    return { status: 200, json }
  }
}
