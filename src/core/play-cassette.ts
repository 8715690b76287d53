import { isMembers } from './any-json.ts'
import type { Caller } from './caller.ts'
import type { Cassette, Interaction, RecordedRequest } from './cassette.ts'
import { GatewayError } from './error.ts'
import { canonicalText } from './repeats/cache-key.ts'

/** Opens the cassette of a caller that has one. Throws a GatewayError. */
export type OpenCassette = (caller: Caller) => Promise<Cassette | undefined>

/** Whether a cassette answers in place of the vendors. */
export function replays({ cassette, mode }: Pick<Caller, 'cassette' | 'mode'>): boolean {
  return cassette !== undefined && mode === 'test'
}

/** The interactions of a cassette, and their places by request. */
export type Recorded = ReturnType<typeof recordedIn>

export function recordedIn(name: string, interactions: readonly Interaction[]) {
  const places = Map.groupBy(interactions.keys(), (index) => keyOf(interactions[index]!))
  return { name, interactions, places }
}

/**
 * Replays a cassette for one call. `used` are the places that the key has used: equal requests get their answers
 * in order, and then again from the first, but no call gets an answer twice.
 */
export function playCassette(recorded: Recorded, used: Set<number>): Cassette {
  const { interactions, places } = recorded
  const usedHere = new Set<number>()
  return {
    plays: true,
    play: (request) => {
      const equal = places.get(keyOf(request)) ?? []
      let place = equal.find((one) => !used.has(one))
      if (place === undefined) {
        for (const one of equal) used.delete(one)
        place = equal[0]
      }
      if (place === undefined) throw mismatch(recorded, used, request)
      if (usedHere.has(place)) throw repeated(recorded, place, equal.length)
      used.add(place)
      usedHere.add(place)
      return interactions[place]!
    },
    order: (routes) => {
      const placed = routes.flatMap((route) => {
        const { length } = interactions
        const isOf = (at: number) =>
          interactions[at]!.provider === route.provider.id &&
          interactions[at]!.model === route.upstreamModel
        const all = [...interactions.keys()].filter(isOf)
        const place = all.find((at) => !used.has(at)) ?? length
        return all.length === 0 ? [] : [{ route, place }]
      })
      if (placed.length === 0) return routes
      return placed.toSorted((a, b) => a.place - b.place).map(({ route }) => route)
    },
  }
}

function keyOf({ provider, request }: RecordedRequest): string {
  return canonicalText([provider, request])
}

const remedy =
  'Send the request that was recorded, or record it again: delete the cassette, and make the calls with a live key that has it.'

/** Names the first difference to the interaction that was expected. */
function mismatch(
  { name, interactions }: Recorded,
  used: ReadonlySet<number>,
  { provider, request }: RecordedRequest,
): GatewayError {
  const fresh = [...interactions.keys()].filter((at) => !used.has(at))
  const candidates = fresh.length > 0 ? fresh : [...interactions.keys()]
  const given = { provider, request }
  const likeness = (at: number) => {
    const { provider: other, request: recorded } = interactions[at]!
    if (other !== provider) return 0
    return recorded.method === request.method && recorded.path === request.path ? 2 : 1
  }
  // The first of the most similar ones.
  const [expected] = candidates.toSorted((a, b) => likeness(b) - likeness(a))
  const which = `${provider}, ${request.method} ${request.path}`
  const start = `The cassette '${name}' has no answer to this request (${which}).`
  if (expected === undefined)
    return new GatewayError('cassette_mismatch', `${start} It is empty. ${remedy}`)
  const { provider: other, request: recorded } = interactions[expected]!
  const { at, left, right } = difference({ provider: other, request: recorded }, given)!
  const where = `Interaction ${expected + 1} of ${interactions.length} differs at /interactions/${expected}${at}`
  const values = `recorded was ${shown(left)}, given is ${shown(right)}`
  return new GatewayError('cassette_mismatch', `${start} ${where}: ${values}. ${remedy}`)
}

function repeated({ name, interactions }: Recorded, place: number, times: number): GatewayError {
  const { provider, request } = interactions[place]!
  const which = `${provider}, ${request.method} ${request.path}`
  const text = `The cassette '${name}' has ${times} of this request (${which}), first as interaction ${place + 1}, and the call sends one more. ${remedy}`
  return new GatewayError('cassette_mismatch', text)
}

type Difference = { at: string; left: unknown; right: unknown }

/** The first difference of two JSON values, with its JSON pointer (RFC 6901). */
function difference(left: unknown, right: unknown, at = ''): Difference | undefined {
  const areMembers = isMembers(left) && isMembers(right)
  if (!areMembers && !(Array.isArray(left) && Array.isArray(right)))
    return Object.is(left, right) ? undefined : { at, left, right }
  // Arrays have their indexes as names.
  const [one, other] = [left, right] as Record<string, unknown>[]
  for (const name of new Set([...Object.keys(one!), ...Object.keys(other!)])) {
    const part = `${at}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
    const found = difference(one![name], other![name], part)
    if (found !== undefined) return found
  }
  return undefined
}

const shownCharactersMax = 200

function shown(value: unknown): string {
  const text = value === undefined ? 'absent' : JSON.stringify(value)
  return text.length > shownCharactersMax ? `${text.slice(0, shownCharactersMax)}…` : text
}
