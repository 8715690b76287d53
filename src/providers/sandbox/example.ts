import { isMembers, itemsOf, membersOf, type Members as Rule } from '../../core/any-json.ts'

/** Deeper levels contain required values only, since references may be recursive. */
const fullDepthMax = 5
const depthMax = 32
const valuesMax = 10_000
const itemsMax = 256

const ofFormat: Record<string, string> = {
  'date-time': '2026-01-01T00:00:00Z',
  date: '2026-01-01',
  time: '00:00:00Z',
  duration: 'P1D',
  email: 'sandbox@example.com',
  hostname: 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uri: 'https://example.com/',
  uuid: '00000000-0000-4000-8000-000000000000',
}

/** A simple value that is valid for a JSON Schema, always the same; `pattern` is ignored. */
export function exampleOf(root: unknown): unknown {
  let valuesLeft = valuesMax
  const make = (schema: unknown, depth: number): unknown => {
    const rule = resolve(schema, root, depth < fullDepthMax)
    if ('const' in rule) return rule['const']
    if ('default' in rule) return rule['default']
    if (Array.isArray(rule['enum'])) return rule['enum'][0]
    switch (typeOf(rule)) {
      case 'string':
        return text(rule)
      case 'integer':
      case 'number':
        return number(rule)
      case 'boolean':
        return true
      case 'null':
        return null
    }
    const isArray = typeOf(rule) === 'array'
    const parts = (all: boolean) => (isArray ? items(rule, all) : members(rule, all))
    const all = parts(depth < fullDepthMax)
    const some = all.length <= valuesLeft ? all : parts(false)
    if (depth > depthMax || some.length > valuesLeft) return null
    valuesLeft -= some.length
    const made = some.map(([name, inner]) => [name, make(inner, depth + 1)] as const)
    return isArray ? made.map(([, value]) => value) : Object.fromEntries(made)
  }
  return make(root, 0)
}

/** Merges a schema with its reference, its `allOf` parts and its first or last branch. */
function resolve(schema: unknown, root: unknown, first: boolean, hops = 0): Rule {
  if (!isMembers(schema) || hops > depthMax) return {}
  const { $ref: reference, allOf, anyOf, oneOf, ...rule } = schema
  const choice = itemsOf(anyOf ?? oneOf)
  // The last branch ends a recursion: often it is the simplest, such as null.
  const chosen = choice.at(first ? 0 : -1)
  const parts = [...(reference === undefined ? [] : [target(reference, root)]), ...itemsOf(allOf)]
  return [...parts, ...(chosen === undefined ? [] : [chosen])]
    .map((part) => resolve(part, root, first, hops + 1))
    .reduce(merge, rule)
}

function merge(one: Rule, other: Rule): Rule {
  const properties = { ...membersOf(one['properties']), ...membersOf(other['properties']) }
  const required = [...itemsOf(one['required']), ...itemsOf(other['required'])]
  return { ...one, ...other, properties, required }
}

/** Resolves a reference within the schema, such as `#/$defs/step`. */
function target(reference: unknown, root: unknown): unknown {
  const [start, ...steps] = String(reference).split('/')
  if (start !== '#') return {}
  return steps
    .map((step) => decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>((part, step) => (isMembers(part) ? part[step] : undefined), root)
}

function typeOf({ type, properties, items, prefixItems }: Rule): unknown {
  if (type !== undefined) return Array.isArray(type) ? type[0] : type
  const named = Object.keys(membersOf(properties)).length > 0
  return !named && (items ?? prefixItems) !== undefined ? 'array' : 'object'
}

function text({ format, minLength, maxLength }: Rule): string {
  const sample = ofFormat[String(format)] ?? 'sandbox'
  const padded = sample.padEnd(finite(minLength) ?? 0, 'x')
  return padded.slice(0, finite(maxLength) ?? padded.length)
}

/** The number 1, or a number close to 1 within the bounds. */
function number({ type, minimum, maximum, multipleOf, ...rule }: Rule): number {
  const whole = typeOf({ type }) === 'integer'
  const [above, below] = [finite(rule['exclusiveMinimum']), finite(rule['exclusiveMaximum'])]
  const step = finite(multipleOf) ?? (whole ? 1 : undefined)
  if (step === undefined) {
    const least = Math.max(finite(minimum) ?? -Infinity, above ?? -Infinity)
    const most = Math.min(finite(maximum) ?? Infinity, below ?? Infinity)
    if (least < 1 && most > 1) return 1
    if (Number.isFinite(least) && Number.isFinite(most)) return least + (most - least) / 2
    return Number.isFinite(least) ? least + 1 : most - 1
  }
  // The bounds in multiples of `step`, rounded to integers within the bounds.
  const least = Math.max(
    Math.ceil((finite(minimum) ?? -Infinity) / step),
    above === undefined ? -Infinity : Math.floor(above / step) + 1,
  )
  const most = Math.min(
    Math.floor((finite(maximum) ?? Infinity) / step),
    below === undefined ? Infinity : Math.ceil(below / step) - 1,
  )
  return Math.min(Math.max(1, least), most) * step
}

type Part = [name: string, schema: unknown]

function items({ items, prefixItems, minItems, maxItems }: Rule, all: boolean): Part[] {
  const first = itemsOf(prefixItems)
  const least = Math.max(finite(minItems) ?? 0, all ? Math.max(1, first.length) : 0)
  const most = Math.min(finite(maxItems) ?? Infinity, items === false ? first.length : itemsMax)
  const count = Math.min(least, most)
  return Array.from({ length: count }, (_, index) => [String(index), first[index] ?? items])
}

function members(rule: Rule, all: boolean): Part[] {
  const properties = membersOf(rule['properties'])
  const required = itemsOf(rule['required']).map(String)
  const names = all ? [...Object.keys(properties), ...required] : required
  return [...new Set(names)].map((name) => [
    name,
    properties[name] ?? rule['additionalProperties'] ?? {},
  ])
}

function finite(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}
