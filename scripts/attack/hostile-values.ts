import fc from 'fast-check'
import { dictionary } from './dictionary.ts'

/** Values that are known to break servers: wrong types, bounds, names, characters and deep nesting. */
export const hostileValue: fc.Arbitrary<unknown> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom<unknown[]>(null, true, false, [], {}, [[]], [null], [{}]),
  },
  {
    weight: 4,
    arbitrary: fc.constantFrom(...dictionary.numbers),
  },
  {
    weight: 4,
    arbitrary: fc.constantFrom(...dictionary.texts, '💥'.repeat(99)),
  },
  { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
  { weight: 2, arbitrary: fc.double() },
  { weight: 2, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
  { weight: 1, arbitrary: fc.nat(20_000).map((length) => 'x'.repeat(length)) },
  { weight: 1, arbitrary: fc.nat(300).map((length) => Array<unknown>(length).fill('x')) },
  { weight: 1, arbitrary: fc.nat(1000).map(nested) },
)

/** Arrays and objects nested to this depth. */
export function nested(depth: number): unknown {
  let value: unknown = 'x'
  for (let level = 0; level < depth; level++) value = level % 2 === 0 ? [value] : { x: value }
  return value
}

/** A change at one place of a JSON value. */
export type Mutation = {
  at: number
  kind: 'replace' | 'remove' | 'add' | 'repeat' | 'rename' | 'wrap'
  name: string
  value: unknown
}

export const mutation: fc.Arbitrary<Mutation> = fc.record({
  at: fc.nat(1000),
  kind: fc.constantFrom('replace', 'replace', 'remove', 'add', 'repeat', 'rename', 'wrap'),
  name: fc.constantFrom(...dictionary.members, 'x'.repeat(300)),
  value: hostileValue,
})

/** The value with one change; `at` counts places depth first, modulo their number. */
export function mutated(value: unknown, change: Mutation): unknown {
  const places = countPlaces(value)
  let place = change.at % places
  const walk = (part: unknown): unknown => {
    if (place-- === 0) return changed(part, change)
    if (Array.isArray(part)) {
      return part.map(walk).filter((item) => item !== undefined)
    }
    if (typeof part !== 'object' || part === null) return part
    return fromEntries(Object.entries(part).map(([name, member]) => [name, walk(member)]))
  }
  return walk(value)
}

function countPlaces(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1
  return Object.values(value).reduce<number>((sum, part) => sum + countPlaces(part), 1)
}

function changed(part: unknown, { kind, name, value }: Mutation): unknown {
  switch (kind) {
    case 'replace':
      return value
    case 'remove':
      return undefined
    case 'wrap':
      return [part]
    case 'repeat':
      return Array.isArray(part) ? [...part, ...part, ...part] : [part, part]
    default:
      break
  }
  if (typeof part !== 'object' || part === null) return value
  if (Array.isArray(part)) return [...(part as unknown[]), value]
  const members = Object.entries(part)
  if (kind === 'add') return fromEntries([...members, [name, value]])
  return fromEntries(members.map(([old, member], index) => [index === 0 ? name : old, member]))
}

/** Like Object.fromEntries, but keeps a member `__proto__`, as JSON.parse does. */
function fromEntries(entries: [string, unknown][]): object {
  return JSON.parse(
    `{${entries
      .filter(([, member]) => member !== undefined)
      .map(([name, member]) => `${JSON.stringify(name)}:${JSON.stringify(member) ?? 'null'}`)
      .join(',')}}`,
  ) as object
}

/** Changes the text of a body after serialization. */
export const textMutation: fc.Arbitrary<(text: string) => Buffer> = fc.oneof(
  { weight: 30, arbitrary: fc.constant((text: string) => Buffer.from(text)) },
  {
    weight: 1,
    arbitrary: fc.nat(500).map((at) => (text: string) => Buffer.from(text).subarray(0, at)),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.nat(500), fc.uint8Array({ minLength: 1, maxLength: 4 }))
      .map(([at, bytes]) => (text: string) => {
        const whole = Buffer.from(text)
        return Buffer.concat([whole.subarray(0, at), bytes, whole.subarray(at)])
      }),
  },
  {
    weight: 2,
    arbitrary: fc
      .constantFrom(...dictionary.jsonNumbers, `1${'0'.repeat(400)}`)
      .map((number) => (text: string) => Buffer.from(text.replace(/\d+/, number))),
  },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom(...dictionary.jsonFronts, ' '.repeat(5000))
      .map((front) => (text: string) => Buffer.from(front + text)),
  },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom(...dictionary.jsonEnds)
      .map((end) => (text: string) => Buffer.from(text + end)),
  },
  { weight: 1, arbitrary: fc.constant((text: string) => Buffer.from(text, 'utf16le')) },
  {
    weight: 1,
    arbitrary: fc.constant((text: string) =>
      Buffer.from(text.replace('{', '{"model":"x","model":7,')),
    ),
  },
  {
    weight: 1,
    arbitrary: fc
      .nat(100_000)
      .map((depth) => () => Buffer.from('['.repeat(depth) + ']'.repeat(depth))),
  },
)
