import { branchesOf, sample, type Words } from './probes.ts'
import type { Schema } from './contract.ts'

/** A place in a schema that accepts any text; `put` returns a minimal value with a text at this place. */
export type StringPlace = { at: string; put: (text: string) => unknown }

/** All places of a schema that accept any text, including names of members that the schema does not list. */
export function stringPlaces(schema: Schema, words: Words, key = ''): StringPlace[] {
  return branchesOf(schema).flatMap((branch): StringPlace[] => {
    const { type, enum: values, const: constant, properties = {}, items } = branch
    if (values !== undefined || constant !== undefined) return []
    if (type === 'string') return [{ at: '', put: (text: string) => text }]
    if (type === 'array' && items !== undefined) {
      return stringPlaces(items, words, key).map(({ at, put }) => ({
        at: `[0]${at}`,
        put: (text: string) => [put(text)],
      }))
    }
    if (type !== 'object') return []
    const base = sample(branch, words, key) as object
    const members = Object.entries(properties).flatMap(([name, member]) =>
      stringPlaces(member, words, name).map(({ at, put }) => ({
        at: `.${name}${at}`,
        put: (text: string) => ({ ...base, [name]: put(text) }),
      })),
    )
    if (branch.additionalProperties === false) return members
    return [
      ...members,
      { at: '.<name>', put: (text: string) => ({ ...base, [text]: 'a fox' }) },
      { at: '.<more>', put: (text: string) => ({ ...base, a_field_of_mine: text }) },
    ]
  })
}
