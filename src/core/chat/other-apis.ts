import table from './other-apis.json' with { type: 'json' }

type Hints = Readonly<Record<string, string>>
/** Replacements for fields of other APIs. */
const fields: Hints = table.fields
/** Replacements for values and member names of other APIs, by parameter. */
const shapes: Readonly<Record<string, Hints>> = table.shapes

/** The hint for a field that is not sent to the vendor; undefined when no other API has the field. */
export function fieldHint(name: string): string | undefined {
  return Object.hasOwn(fields, name)
    ? `'${name}' is not part of this API: ${fields[name]}.`
    : undefined
}

/**
 * The hint for a value of another API, or for members of another API next to a missing member; undefined when
 * no API is recognized. `param` is the faulty parameter.
 */
export function shapeHint(param: string, words: readonly string[]): string | undefined {
  const place = param.replaceAll(/\[\d+\]/g, '[]')
  if (!Object.hasOwn(shapes, place)) return undefined
  const known = shapes[place]!
  const word = words.find((one) => Object.hasOwn(known, one))
  return word === undefined ? undefined : `'${word}' belongs to ${known[word]}.`
}
