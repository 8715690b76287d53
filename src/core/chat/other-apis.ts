import table from './other-apis.json' with { type: 'json' }

type Hints = Readonly<Record<string, string>>
/** What to send in the place of a field of another API. */
const fields: Hints = table.fields
/** Words of other APIs, by the place where they stand: a value, or a member beside one that is missing. */
const shapes: Readonly<Record<string, Hints>> = table.shapes

/** What to send instead of a field that a vendor does not get; undefined for names of no known API. */
export function fieldHint(name: string): string | undefined {
  return Object.hasOwn(fields, name) ? `'${name}' is not read here: ${fields[name]}.` : undefined
}

/**
 * Which API a value is of, or the members beside a missing one, and what to send here; undefined where none is
 * known. `param` is the place that is at fault.
 */
export function shapeHint(param: string, words: readonly string[]): string | undefined {
  const place = param.replaceAll(/\[\d+\]/g, '[]')
  if (!Object.hasOwn(shapes, place)) return undefined
  const known = shapes[place]!
  const word = words.find((one) => Object.hasOwn(known, one))
  return word === undefined ? undefined : `'${word}' is of ${known[word]}.`
}
