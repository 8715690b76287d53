import { complaints, resolve, type Schema } from './contract.ts'
import { patterns } from './pattern-samples.ts'

/** A value just inside or just outside a bound of its schema. */
export type Probe = {
  value: unknown
  allowed: boolean
  /** Path that the error must contain, starting at the value: `[0].image_url`. */
  at: string
  code?: 'missing_required_parameter' | 'unknown_parameter'
  /** A number beside a bound, which the generated check decides alone. */
  isInner?: boolean
}
/** Values of properties that the schema does not restrict but the gateway does: `model`, `url`, … */
export type Words = Readonly<Record<string, unknown>>

/** Probes of every enum value, bound and member of a schema; `key` is the property's name. */
export function probesOf(schema: Schema, words: Words, key = ''): Probe[] {
  const branches = branchesOf(schema)
  const checked = branches.filter((branch) => !isForOthers(branch))
  const found = checked.flatMap((branch) => branchProbes(branch, words, key))
  const kinds = new Set(branches.flatMap(kindsOf))
  if (resolve(schema)['x-checked-by-model']) {
    return wrongValues.filter(({ kind }) => kind !== 'object').map(({ value }) => refused(value))
  }
  const wrong = kinds.size === 0 ? [] : wrongValues.filter(({ kind }) => !kinds.has(kind))
  return [
    // Drops a refused value of one branch when another branch allows the value.
    ...found.filter(
      ({ allowed, value }) =>
        allowed || branches.every((b) => complaints(b, withoutNulls(value)).length > 0),
    ),
    ...wrong.map(({ value }) => refused(value)),
  ]
}

/** Types that no model of the probes takes; they have tests of their own. */
const typesOfOthers: ReadonlySet<unknown> = new Set([
  'computer',
  'computer_call',
  'computer_call_output',
  'file_search',
  // Its call is named by one of two members.
  'local_shell_call_output',
])

/** Whether a schema is for types of tools and items that the vendor alone knows, or that are refused. */
function isForOthers({ properties: { type } = {} }: Schema): boolean {
  return type?.not !== undefined || type?.enum?.some((one) => typesOfOthers.has(one)) === true
}

/** Null means the same as an absent member. */
function withoutNulls(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null))
}

/** Probes of an object's members, each within a copy of `base`. */
export function memberProbes(schema: Schema, base: object, words: Words): Probe[] {
  const { properties = {}, required = [], additionalProperties } = schema
  const members = Object.entries(properties).flatMap(([name, member]) =>
    probesOf(member, words, name)
      .filter(({ value }) => value !== null)
      .map((probe) => ({
        ...probe,
        value: { ...base, [name]: probe.value },
        at: `.${name}${probe.at}`,
      })),
  )
  // Null means the same as an absent member.
  const nulls = Object.keys(properties)
    .filter((name) => !required.includes(name))
    .map((name) => allowed({ ...base, [name]: null }))
  const missing = required.flatMap((name) => {
    const rest: Record<string, unknown> = { ...base }
    delete rest[name]
    return [rest, { ...base, [name]: null }].map((value) => ({
      ...refused(value, `.${name}`),
      code: 'missing_required_parameter' as const,
    }))
  })
  return [
    allowed(base),
    ...members,
    ...nulls,
    ...missing,
    ...furtherProbes(additionalProperties, base, words),
    ...countProbes(schema, base, words),
  ]
}

/** The maximum number of members, and one more. */
function countProbes(schema: Schema, base: object, words: Words): Probe[] {
  const { maxProperties, additionalProperties: further = true } = schema
  if (maxProperties === undefined) return []
  const value = typeof further === 'boolean' ? 1 : sample(further, words)
  const filled = (count: number) => {
    const names = Array.from(
      { length: count - Object.keys(base).length },
      (_, at) => `member_${at}`,
    )
    return { ...base, ...Object.fromEntries(names.map((name) => [name, value])) }
  }
  return [allowed(filled(maxProperties)), refused(filled(maxProperties + 1))]
}

/** A minimal value of a schema. */
export function sample(schema: Schema, words: Words, key = ''): unknown {
  const [branch] = branchesOf(schema)
  const { type, properties = {}, required = [] } = branch!
  if (branch!.const !== undefined) return branch!.const
  if (branch!.enum !== undefined) return branch!.enum[0]
  if (type === 'object') {
    const members = required.map((name) => [name, sample(properties[name]!, words, name)])
    return Object.fromEntries(members) as unknown
  }
  if (type === 'array') {
    const { minItems = 0, items = {} } = branch!
    return Array.from({ length: minItems }, () => sample(items, words, key))
  }
  if (key in words) return words[key]
  if (type === 'integer' || type === 'number') return branch!.minimum ?? 1
  if (type === 'boolean') return true
  if (type === 'null') return null
  return branch!.pattern === undefined ? 'a fox' : patternOf(branch!.pattern).passes[0]
}

function furtherProbes(further: Schema['additionalProperties'], base: object, words: Words) {
  const name = 'no_such_parameter'
  if (further === false) {
    const probe = refused({ ...base, [name]: 1 }, `.${name}`)
    return [{ ...probe, code: 'unknown_parameter' as const }]
  }
  if (further === undefined || further === true) return [allowed({ ...base, [name]: 1 })]
  return probesOf(further, words).map((probe) => ({
    ...probe,
    value: { ...base, [name]: probe.value },
    at: `.${name}${probe.at}`,
  }))
}

export function branchesOf(schema: Schema): Schema[] {
  const found = resolve(schema)
  const choices = found.anyOf ?? found.oneOf
  if (choices !== undefined) return choices.flatMap(branchesOf)
  const types = [found.type ?? []].flat()
  return types.length > 1 ? types.map((type) => ({ ...found, type })) : [found]
}

function branchProbes(schema: Schema, words: Words, key: string): Probe[] {
  if (schema.const !== undefined) return [allowed(schema.const), refused('no-such-value')]
  if (schema.enum !== undefined) return [...schema.enum.map(allowed), refused('no-such-value')]
  switch (schema.type) {
    case 'object':
      return memberProbes(schema, sample(schema, words, key) as object, words)
    case 'array':
      return arrayProbes(schema, words, key)
    case 'integer':
    case 'number':
      return numberProbes(schema)
    case 'boolean':
      return [allowed(true), allowed(false)]
    case 'null':
      return [allowed(null)]
    default:
      return stringProbes(schema, words, key)
  }
}

function stringProbes({ pattern, maxLength }: Schema, words: Words, key: string): Probe[] {
  const long = maxLength === undefined ? [] : [refused('a'.repeat(maxLength + 1))]
  if (pattern === undefined) return [allowed(words[key] ?? 'a fox'), ...long]
  const { passes, stops } = patternOf(pattern)
  return [...passes.map(allowed), ...stops.map((value) => refused(value)), ...long]
}

function numberProbes({ type, minimum, maximum, multipleOf }: Schema): Probe[] {
  const whole = type === 'integer' || multipleOf === 1
  const step = whole ? 1 : 0.5
  return [
    ...(minimum === undefined ? [allowed(-1), allowed(0)] : atLeast(minimum, step)),
    ...(maximum === undefined ? [allowed(1000)] : atMost(maximum, step)),
    ...(whole ? [refused((minimum ?? 0) + 0.5)] : []),
  ]
}

function atLeast(minimum: number, step: number): Probe[] {
  return [refused(minimum - step), allowed(minimum), { ...allowed(minimum + step), isInner: true }]
}

function atMost(maximum: number, step: number): Probe[] {
  return [{ ...allowed(maximum - step), isInner: true }, allowed(maximum), refused(maximum + step)]
}

function arrayProbes(schema: Schema, words: Words, key: string): Probe[] {
  const { items = {}, minItems = 0, maxItems } = schema
  const list = (length: number) => Array.from({ length }, () => sample(items, words, key))
  const inside = probesOf(items, words, key).map((probe) => ({
    ...probe,
    value: [probe.value, ...list(Math.max(0, minItems - 1))],
    at: `[0]${probe.at}`,
  }))
  return [
    ...(minItems > 0 ? [refused(list(minItems - 1))] : []),
    allowed(list(minItems)),
    ...(maxItems === undefined ? [] : [allowed(list(maxItems)), refused(list(maxItems + 1))]),
    ...inside,
  ]
}

function patternOf(pattern: string): { passes: string[]; stops: string[] } {
  const found = patterns[pattern]
  if (found === undefined)
    throw new Error(`Add samples of the pattern ${pattern} to pattern-samples.ts`)
  return found
}

function allowed(value: unknown): Probe {
  return { value, allowed: true, at: '' }
}

function refused(value: unknown, at = ''): Probe {
  return { value, allowed: false, at }
}

const wrongValues = [
  { kind: 'string', value: 'a fox' },
  { kind: 'number', value: 4.5 },
  { kind: 'boolean', value: true },
  { kind: 'array', value: ['a fox'] },
  { kind: 'object', value: { fox: true } },
  { kind: 'null', value: null },
]

/** JSON types of a branch; a constant's type is that of its value. */
function kindsOf({ type, enum: values, const: constant }: Schema): string[] {
  if (values !== undefined || constant !== undefined) {
    return [values ?? constant].flat().map((value) => (value === null ? 'null' : typeof value))
  }
  return type === 'integer' ? ['number'] : [type ?? []].flat()
}
