import type { components } from '../../generated/types.ts'
import type { Catalog, Model } from '../core/model.ts'
import type { RouteTable } from '../core/route.ts'
import type { Operation } from '../http/operation.ts'

type Schemas = components['schemas']
type Options = { catalog: Catalog; routes: RouteTable }

/** GET /v1/models */
export function listModels({ catalog, routes }: Options): Operation<'listModels'> {
  return async ({ query, caller }) => {
    const filter = {
      includeDeactivated: query.include_deactivated ?? false,
      excludeDeprecated: query.exclude_deprecated ?? false,
      family: query.family,
      limit: query.limit,
    }
    const { models } = catalog.list(filter, (model) => routes.usable(model, caller))
    const json: Schemas['ModelList'] = { object: 'list', data: models.map(toModel) }
    return { status: 200, json }
  }
}

/** GET /v1/models/{model} */
export function retrieveModel({ catalog }: Options): Operation<'retrieveModel'> {
  return async ({ path }) => ({ status: 200, json: toModel(catalog.find(path.model).model) })
}

/** A model as the contract shows it. */
function toModel({ row }: Model): Schemas['Model'] {
  return {
    id: row.id,
    object: 'model',
    created: row.released_at === undefined ? 0 : Date.parse(row.released_at) / 1000,
    owned_by: row.provider,
    name: row.name,
    family: row.family,
    status: row.status,
    aliases: row.aliases ?? [],
    input_modalities: row.input_modalities,
    output_modalities: row.output_modalities,
    capabilities: row.capabilities,
    context_window: row.context_window ?? null,
    max_output_tokens: row.max_output_tokens ?? null,
    pricing: row.pricing,
    image: row.image ?? null,
    deprecated_at: row.deprecated_at ?? null,
    deactivated_at: row.deactivated_at ?? null,
    successor: row.successor ?? null,
  }
}
