import { GatewayError } from '../core/error.ts'
import { ModelNotFound } from '../core/words/model-not-found.ts'
import type { Catalog } from '../core/model.ts'
import { nearName } from '../core/words/near-name.ts'
import { plainName, providersByPrefix, type NamePrefixes, nearModel } from './names.ts'

type Known = {
  catalog: Pick<Catalog, 'find' | 'list'>
  endpoints: readonly { id: string; models: string | readonly string[] }[]
  /** Prefixes of model names besides the provider id, by provider id. */
  prefixes: NamePrefixes
}

/**
 * The ids of the models that a new key may call; `names` may hold any names that calls may use. A
 * name outside the catalog is accepted as `vendor/name`, since the vendor may offer the model. Throws
 * `invalid_value` for an unknown model, with the closest name.
 */
export function keyModelIds(names: readonly string[], known: Known): string[] {
  return [...new Set(names.map((name, index) => idOf(name, `models[${index}]`, known)))]
}

function idOf(asked: string, param: string, { catalog, endpoints, prefixes }: Known): string {
  try {
    return catalog.find(asked).model.row.id
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    if (!(error instanceof ModelNotFound)) throw noKeyModel(error.message, param)
  }
  const own = plainName(asked) === undefined ? undefined : vendorsOwn(asked, prefixes)
  if (own !== undefined) return own
  const listed = endpoints.flatMap(({ id, models }) =>
    typeof models === 'string' ? [] : models.map((name) => `${id}/${name}`),
  )
  const known = catalog.list({}, () => true).models
  const near = nearModel(asked, known) ?? nearName(asked, listed)
  const meant = near === undefined ? '' : ` Did you mean '${near}'?`
  throw noKeyModel(
    `The model '${asked.slice(0, 100)}' does not exist.${meant} Write a model outside the catalog as provider/model.`,
    param,
  )
}

function noKeyModel(message: string, param: string): GatewayError {
  return new GatewayError('invalid_value', message, { param })
}

/** The id `vendor/name` of a name with a prefix of a vendor; undefined for any other name. */
function vendorsOwn(asked: string, prefixes: NamePrefixes): string | undefined {
  const slash = asked.indexOf('/')
  if (slash < 0) return undefined
  const vendor = providersByPrefix(prefixes).get(asked.slice(0, slash).toLowerCase())
  const name = asked.slice(slash + 1).trim()
  return name === '' || vendor === undefined ? undefined : `${vendor}/${name}`
}
