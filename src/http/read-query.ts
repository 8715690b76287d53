import type { IncomingMessage } from 'node:http'
import { GatewayError } from '../core/error.ts'
import { nearName } from '../core/words/near-name.ts'

type QueryNames = { queryNames: readonly string[]; queryLists: readonly string[] }

/**
 * The query parameters of an operation as strings, or lists of them, which commas separate; an empty
 * one is absent, and those that it does not have are ignored. Throws `invalid_value` for one that is given twice, `unknown_parameter` for
 * one that is nearly a parameter.
 */
export function readQuery(
  { url = '' }: IncomingMessage,
  { queryNames: known, queryLists: lists }: QueryNames,
): object {
  const start = url.indexOf('?')
  if (start < 0) return {}
  // No prototype: its members, such as `toString`, would count as parameters already given.
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
