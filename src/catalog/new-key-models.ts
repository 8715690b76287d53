import { GatewayError } from '../core/error.ts'
import { ModelNotFound } from '../core/words/model-not-found.ts'
import type { Catalog } from '../core/model.ts'
import { nearName } from '../core/words/near-name.ts'
import { plainName, providersByPrefix, type NamePrefixes, nearModel } from './names.ts'

type Models = {
  catalog: Pick<Catalog, 'find' | 'list'>
  endpoints: readonly { id: string; models: string | readonly string[] }[]
  /** Prefixes of model names besides the provider id, by provider id. */
  prefixes: NamePrefixes
}

/**
 * The ids of the models that a new key may call; `names` may hold any names that calls may use. A
 * name outside the catalog is accepted as `vendor/name`, since the vendor may offer the model. Throws
 * `invalid_value` for an unknown model, with the closest name; `param` is the member with the list.
 */
export function keyModelIds(names: readonly string[], models: Models, param = 'models'): string[] {
  return [...new Set(names.map((name, index) => idOf(name, `${param}[${index}]`, models)))]
}

function idOf(name: string, param: string, { catalog, endpoints, prefixes }: Models): string {
  try {
    return catalog.find(name).model.row.id
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    if (!(error instanceof ModelNotFound)) throw noKeyModel(error.message, param)
  }
  const own = plainName(name) === undefined ? undefined : vendorsOwn(name, prefixes)
  if (own !== undefined) return own
  const listed = endpoints.flatMap(({ id, models }) =>
    typeof models === 'string' ? [] : models.map((name) => `${id}/${name}`),
  )
  const known = catalog.list({}, () => true).models
  const near = nearModel(name, known) ?? nearName(name, listed)
  const meant = near === undefined ? '' : ` Did you mean '${near}'?`
  throw noKeyModel(
    `The model '${name.slice(0, 100)}' does not exist.${meant} Write a model outside the catalog as provider/model.`,
    param,
  )
}

function noKeyModel(message: string, param: string): GatewayError {
  return new GatewayError('invalid_value', message, { param })
}

/** The id `vendor/name` of a name with a prefix of a vendor; undefined for any other name. */
function vendorsOwn(modelName: string, prefixes: NamePrefixes): string | undefined {
  const slash = modelName.indexOf('/')
  if (slash < 0) return undefined
  const vendor = providersByPrefix(prefixes).get(modelName.slice(0, slash).toLowerCase())
  const name = modelName.slice(slash + 1).trim()
  return name === '' || vendor === undefined ? undefined : `${vendor}/${name}`
}
