/** An OpenAPI Overlay 1.0. */
export type Overlay = { overlay: string; actions: Action[] }
type Action = { target: string; update?: unknown; remove?: boolean }
type Members = Record<string, unknown>
/** A place in the document: the member of an object. */
type Place = { owner: Members; name: string }

/**
 * A copy of the document with the changes of the overlay. Its targets consist of names and wildcards. Throws
 * for a target that matches nothing, since the stream that it means may have another path.
 */
export function applyOverlay<T extends object>(document: T, { overlay, actions }: Overlay): T {
  if (!overlay.startsWith('1.0.')) throw new Error(`Overlay ${overlay} is not supported.`)
  const root = { document: structuredClone(document) }
  for (const { target, update, remove } of actions) {
    const places = placesOf({ owner: root, name: 'document' }, target)
    if (places.length === 0) throw new Error(`The target ${target} matches nothing.`)
    for (const { owner, name } of places) {
      if (remove === true) delete owner[name]
      else owner[name] = merged(owner[name], update)
    }
  }
  return root.document
}

const segment = /\.([\w-]+|\*)|\['([^']+)'\]/g

function placesOf(root: Place, target: string): Place[] {
  const segments = [...target.matchAll(segment)]
  if (target !== `$${segments.map(([text]) => text).join('')}`)
    throw new Error(`The target ${target} has other segments than names and wildcards.`)
  return segments.reduce(
    (places, [, short, quoted]) =>
      places.flatMap(({ owner, name }) => membersOf(owner[name], quoted ?? short!)),
    [root],
  )
}

function membersOf(value: unknown, name: string): Place[] {
  if (typeof value !== 'object' || value === null) return []
  // The cast is safe: the value is an object, and an array has its places as names.
  const owner = value as Members
  const names = name === '*' ? Object.keys(owner) : [name]
  return names.filter((one) => Object.hasOwn(owner, one)).map((one) => ({ owner, name: one }))
}

/** Objects are merged, lists are joined, and other values are replaced. */
function merged(value: unknown, update: unknown): unknown {
  if (Array.isArray(value)) return value.concat(update)
  if (!isMembers(value) || !isMembers(update)) return structuredClone(update)
  const changed = Object.entries(update).map(([name, one]) => [name, merged(value[name], one)])
  return { ...value, ...Object.fromEntries(changed) }
}

function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
