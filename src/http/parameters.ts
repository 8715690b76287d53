import type { IncomingMessage } from 'node:http'
import { GatewayError } from '../core/error.ts'
import { nearName } from '../core/words/near-name.ts'

/** The headers that the contract defines for an operation; a check of them may change the object. */
export function headersNamed(names: readonly string[], { headers }: IncomingMessage): object {
  const found: Record<string, unknown> = {}
  for (const name of names) if (headers[name] !== undefined) found[name] = headers[name]
  return found
}

type QueryNames = { queryNames: readonly string[]; queryLists: readonly string[] }

/**
 * The query parameters of an operation as strings, or as lists of comma-separated strings. Empty
 * and unknown parameters are ignored. Throws `invalid_value` for a repeated parameter and
 * `unknown_parameter` for a misspelled one.
 */
export function readQuery(
  { url = '' }: IncomingMessage,
  { queryNames: known, queryLists: lists }: QueryNames,
): object {
  const start = url.indexOf('?')
  if (start < 0) return {}
  // An object without a prototype, whose members (`toString`) would count as parameters.
  const query: Record<string, unknown> = Object.create(null)
  for (const [name, value] of new URLSearchParams(url.slice(start))) {
    if (!known.includes(name)) {
      refuseMisspelled(name, known)
      continue
    }
    if (name in query) {
      throw new GatewayError('invalid_value', `'${name}' is given twice.`, { param: name })
    }
    if (value !== '') query[name] = lists.includes(name) ? value.split(',') : value
  }
  return query
}

function refuseMisspelled(name: string, known: readonly string[]): void {
  const meant = nearName(name, known)
  if (meant === undefined) return
  const text = `There is no parameter '${name}'. Did you mean '${meant}'?`
  throw new GatewayError('unknown_parameter', text, { param: name })
}
