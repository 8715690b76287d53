import { GatewayError } from '../core/error.ts'
import { ModelNotFound } from '../core/words/model-not-found.ts'
import type { Catalog } from '../core/model.ts'
import { nearName } from '../core/words/near-name.ts'
import { plainName, type NamePrefixes, nearModel } from './names.ts'

type Known = {
  catalog: Pick<Catalog, 'find' | 'list'>
  endpoints: readonly { id: string; models: string | readonly string[] }[]
  /** The vendors, with the other names that they have in front of a model's. */
  prefixes: NamePrefixes
}

/**
 * The ids of the models that a new key may call, each asked for in any way that a call may name it.
 * What only a vendor's own list knows is taken as it is written, behind the vendor: `openai/<name>`.
 * Throws `invalid_value` for what is no model, with one that is probably meant.
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
    `There is no model '${asked.slice(0, 100)}'.${meant} One that only its vendor knows is named as provider/model.`,
    param,
  )
}

function noKeyModel(message: string, param: string): GatewayError {
  return new GatewayError('invalid_value', message, { param })
}

/** `openai/<name>` of a vendor, by any of its names; an operator's endpoint says itself what it has. */
function vendorsOwn(asked: string, prefixes: NamePrefixes): string | undefined {
  const slash = asked.indexOf('/')
  if (slash < 0) return undefined
  const prefix = asked.slice(0, slash).toLowerCase()
  const name = asked.slice(slash + 1).trim()
  const vendor = Object.entries(prefixes).find(([id, others]) => [id, ...others].includes(prefix))
  return name === '' || vendor === undefined ? undefined : `${vendor[0]}/${name}`
}
