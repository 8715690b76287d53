import { GatewayError } from '../core/error.ts'
import { ModelNotFound } from '../core/model-not-found.ts'
import type { Catalog } from '../core/model.ts'
import { nearName } from '../core/near-name.ts'
import { plainName, type NamePrefixes } from './names.ts'
import { nearModel } from './near-model.ts'

/** Its message is for who creates the key. */
export class KeyModelError extends Error {
  override name = 'KeyModelError'
}

const modelsMax = 1000

type Known = {
  catalog: Pick<Catalog, 'find' | 'list'>
  endpoints: readonly { id: string; models: string | readonly string[] }[]
  /** The vendors, with the other names that they have in front of a model's. */
  prefixes: NamePrefixes
}

/**
 * The ids of the models that a new key may call, each asked for in any way that a call may name it.
 * What only a vendor's own list knows is taken as it is written, behind the vendor: `openai/<name>`.
 * Throws a KeyModelError for what is no model, with one that is probably meant.
 */
export function keyModelIds(list: string, { catalog, endpoints, prefixes }: Known): string[] {
  const names = list.split(',').map((name) => name.trim())
  if (names.includes('')) throw new KeyModelError('--models: a name is empty. Write a,b.')
  const idOf = (asked: string): string => {
    try {
      return catalog.find(asked).model.row.id
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      if (!(error instanceof ModelNotFound)) throw new KeyModelError(`--models: ${error.message}`)
    }
    const own = plainName(asked) === undefined ? undefined : vendorsOwn(asked, prefixes)
    if (own !== undefined) return own
    const listed = endpoints.flatMap(({ id, models }) =>
      typeof models === 'string' ? [] : models.map((name) => `${id}/${name}`),
    )
    const known = catalog.list({}, () => true).models
    const near = nearModel(asked, known) ?? nearName(asked, listed)
    const meant = near === undefined ? '' : ` Did you mean '${near}'?`
    throw new KeyModelError(
      `--models: there is no model '${asked.slice(0, 100)}'.${meant} One that only its vendor knows is named as provider/model.`,
    )
  }
  const ids = [...new Set(names.map(idOf))]
  if (ids.length <= modelsMax) return ids
  throw new KeyModelError(`--models takes at most ${modelsMax} models.`)
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
