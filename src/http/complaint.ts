import { isMembers } from '../core/any-json.ts'
import type { CheckError } from '../../generated/checks.js'
import type { ErrorCode } from '../core/error.ts'
import { shapeHint } from '../core/chat/other-apis.ts'
import { nearName } from '../core/words/near-name.ts'

/** An error message for a failed check; `param` is empty if the whole body is wrong. */
type Complaint = { code: ErrorCode; param: string; text: string }
type Words = (error: CheckError, path: string, fields: FieldNames) => Complaint
/** The form fields of body members that are files, by the member; undefined if the body is no form. */
export type FieldNames = Readonly<Record<string, string>> | undefined

/** The caller's name of a body member. */
export function fieldName(member: string, fields: FieldNames): string {
  return fields !== undefined && Object.hasOwn(fields, member) ? fields[member]! : member
}

/** Names the parameter, the received value and the accepted values. */
export function complaintAbout(error: CheckError, prefix: string, fields: FieldNames): Complaint {
  const path = joined(prefix, pathText(error.instancePath))
  const words = wordsOf[error.keyword]
  if (words !== undefined) return words(error, path, fields)
  return invalid(path, `${error.message ?? 'is not valid'}.`)
}

/** Messages by the JSON Schema keyword that failed. */
const wordsOf: Record<string, Words> = {
  required: ({ params, data, parentSchema }, path) => {
    const name = String(params['missingProperty'])
    const param = joined(path, name)
    const near = nearName(name, unknownMembersOf(data, parentSchema))
    const meant = near === undefined ? '' : ` Is '${joined(path, near)}' a misspelling of it?`
    const { propertyName, values = [] } = parentSchema?.discriminator ?? {}
    const choice = propertyName === name ? ` It is one of: ${values.join(', ')}.` : ''
    const hint = shapeHint(param, membersOf(data))
    const origin = hint === undefined ? '' : ` ${hint}`
    const example = exampleText(parentSchema?.properties?.[name])
    const text = `'${param}' is required.${meant}${origin}${choice}${example}`
    return { code: 'missing_required_parameter', param, text }
  },
  additionalProperties: ({ params, parentSchema }, path, fields) => {
    const name = String(params['additionalProperty'])
    const param = joined(path, name)
    const members = Object.keys(parentSchema?.properties ?? {})
    const known = members.map((member) => fieldName(member, fields))
    const near = nearName(name, known)
    const remedy =
      near !== undefined
        ? `Did you mean '${joined(path, near)}'?`
        : known.length === 0
          ? 'No parameters are accepted: remove it.'
          : (shapeHint(param, [name]) ?? `Remove it, or use one of: ${known.join(', ')}.`)
    const noun = fields === undefined ? 'parameter here' : 'field of this form'
    const text = `'${cut(param)}' is not a ${noun}. ${remedy}`
    return { code: 'unknown_parameter', param, text }
  },
  enum: ({ params, data, parentSchema }, path) => {
    const allowed = [params['allowedValues']].flat()
    const values = allowed.filter((value) => value !== null)
    return oneOf(path, values, data, parentSchema)
  },
  const: ({ params, data, parentSchema }, path) => ({
    ...oneOf(path, [params['allowedValue']], data, parentSchema),
    code: 'invalid_value',
  }),
  discriminator: ({ params, data, parentSchema }, path) => {
    const param = joined(path, String(params['tag']))
    const known = parentSchema?.discriminator?.values ?? []
    const given = params['tagValue']
    if (given === null || given === undefined) {
      const hint = shapeHint(param, membersOf(data))
      const text = `'${param}' is required. ${hint ?? `It is one of: ${known.join(', ')}.`}`
      return { code: 'missing_required_parameter', param, text }
    }
    return { ...oneOf(param, known, given), code: 'invalid_value' }
  },
  pattern: ({ params, parentSchema, data }, path) => {
    if (params['pattern'] === '\\S') return invalid(path, 'must not be blank.')
    return invalid(path, `is malformed: ${shown(data)}.${expectedText(parentSchema)}`)
  },
  type: ({ params, data, parentSchema }, path) => {
    // A secret must not appear in the message.
    if (parentSchema?.format === 'password') return invalid(path, 'must be a string.')
    const types = [params['type']]
      .flat()
      .map(String)
      .filter((type) => type !== 'null')
    if (parentSchema?.enum !== undefined) {
      const values = parentSchema.enum.filter((value) => value !== null)
      return { ...oneOf(path, values, data), code: 'invalid_value' }
    }
    const names = types.map((type) => typeNames[type] ?? type).join(' or ')
    const isFraction = typeof data === 'number' && types.includes('integer')
    const given = isFraction || typeof data === 'string' ? shown(data) : typeNames[typeOf(data)]
    const remedy = remedyFor(types, data, parentSchema) ?? exampleText(parentSchema)
    return invalid(path, `must be ${names}, not ${given}.${remedy}`)
  },
  minimum: ({ params, data }, path) =>
    invalid(path, `must be at least ${String(params['limit'])}, not ${String(data)}.`),
  maximum: ({ params, data }, path) =>
    invalid(path, `must be at most ${String(params['limit'])}, not ${String(data)}.`),
  multipleOf: ({ data }, path) => invalid(path, `must be a whole number, not ${String(data)}.`),
  minItems: (error, path) => lengthComplaint(error, path, 'at least', 'item'),
  maxItems: ({ params, parentSchema }, path, fields) =>
    fieldName(path, fields) !== path
      ? lengthComplaint({ params }, path, 'at most', 'file')
      : lengthComplaint({ params, parentSchema }, path, 'at most', 'item'),
  uniqueItems: ({ params, data }, path) => {
    const [twice] = [data].flat().slice(Number(params['i']))
    return invalid(path, `has ${shown(twice)} twice.`)
  },
  maxProperties: (error, path) => lengthComplaint(error, path, 'at most', 'member'),
  minLength: (error, path) => lengthComplaint(error, path, 'at least', 'character'),
  maxLength: (error, path) => lengthComplaint(error, path, 'at most', 'character'),
}

function invalid(path: string, text: string): Complaint {
  return { code: 'invalid_value', param: path, text: `${quoted(path)} ${text}` }
}

function oneOf(
  path: string,
  allowed: readonly unknown[],
  value: unknown,
  schema?: CheckError['parentSchema'],
): Complaint {
  const names = allowed.map(String)
  const word = typeof value === 'string' ? value : ''
  const hint = shapeHint(path, [word])
  const near = hint ?? nearName(word, names)
  const meant = near === undefined ? '' : ` ${hint ?? `Did you mean '${near}'?`}`
  if (names.length > 1) {
    return invalid(path, `must be one of: ${names.join(', ')}; it is ${shown(value)}.${meant}`)
  }
  const why = schema?.description === undefined ? '' : ` ${firstLine(schema.description)}`
  const complaint = invalid(path, `must be ${names[0]}; it is ${shown(value)}.${meant}${why}`)
  // A parameter with a single accepted value exists for clients that send the default.
  return { ...complaint, code: 'unsupported_value' }
}

function firstLine(text: string): string {
  return text.trim().split('\n', 1)[0]!
}

function lengthComplaint(
  { params, parentSchema }: Pick<CheckError, 'params' | 'parentSchema'>,
  path: string,
  bound: string,
  unit: string,
): Complaint {
  const limit = Number(params['limit'])
  const units = limit === 1 ? unit : `${unit}s`
  return invalid(path, `must have ${bound} ${limit} ${units}.${exampleText(parentSchema)}`)
}

/** Unknown members of an object; one of them may be a misspelled known member. */
function unknownMembersOf(data: unknown, schema: CheckError['parentSchema']): string[] {
  return membersOf(data).filter((name) => !Object.hasOwn(schema?.properties ?? {}, name))
}

function membersOf(data: unknown): string[] {
  return typeof data === 'object' && data !== null ? Object.keys(data) : []
}

/** The value to send instead, if only the type is wrong. */
function remedyFor(
  types: readonly string[],
  data: unknown,
  schema: CheckError['parentSchema'],
): string | undefined {
  const takes = (type: string) => types.includes(type)
  if (takes('boolean') && !takes('string')) {
    const text = String(data).toLowerCase()
    return text === 'true' || text === 'false'
      ? ` Send ${text} without quotes.`
      : ' Send true or false.'
  }
  if (typeof data === 'string') return remedyForText(takes, data, schema)
  if (takes('string')) return remedyForNoText(data, schema)
  return takes('array') && isMembers(data) ? ' Put it in a list, between [ and ].' : undefined
}

type Takes = (type: string) => boolean

function remedyForText(
  takes: Takes,
  data: string,
  schema: CheckError['parentSchema'],
): string | undefined {
  const isNumber = /^-?\d+(\.\d+)?$/.test(data) && (takes('number') || takes('integer'))
  if (isNumber) return ` Send ${data} without quotes.`
  const isEncoded = /^\s*[[{]/.test(data) && (takes('array') || takes('object'))
  if (isEncoded) return ' It is JSON inside of a string: send it without the quotes.'
  const isItem = takes('array') && takesText(schema?.items)
  return isItem ? ` Put it in a list: [${shown(data)}].` : undefined
}

function takesText(schema: CheckError['parentSchema']): boolean {
  if (schema?.anyOf !== undefined) return schema.anyOf.some(takesText)
  return schema?.type === 'string' && schema.enum === undefined
}

/** Names the format of a text that has one, since an empty example would be refused again. */
function remedyForNoText(data: unknown, schema: CheckError['parentSchema']): string | undefined {
  if (schema?.pattern !== undefined && schema.pattern !== '\\S') return expectedText(schema)
  const isList =
    Array.isArray(data) && data.length > 0 && data.every((one) => typeof one === 'string')
  if (isList) return ' Send one of them, without the list.'
  if (schema?.examples !== undefined) return undefined
  if (schema?.const !== undefined) return ` Send ${JSON.stringify(schema.const)}.`
  if (typeof data === 'number' || typeof data === 'boolean')
    return ` Send "${String(data)}", in quotes.`
  return undefined
}

function expectedText(schema: CheckError['parentSchema']): string {
  return schema?.description === undefined ? '' : ` Expected: ${firstLine(schema.description)}`
}

function exampleText(schema: CheckError['parentSchema']): string {
  const [example] = schema?.examples ?? []
  return example === undefined ? '' : ` For example: ${JSON.stringify(example)}`
}

const shownLengthMax = 40

/** A short value verbatim. Other values are shown by their type, because they may hold secrets. */
function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? ''
  if (typeof value === 'object' && value !== null) return typeNames[typeOf(value)]!
  return text.length <= shownLengthMax
    ? text
    : `${typeNames[typeOf(value)]} of ${text.length - 2} characters`
}

function cut(text: string): string {
  return text.length <= shownLengthMax * 2 ? text : `${text.slice(0, shownLengthMax * 2)}…`
}

const typeNames: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  integer: 'an integer',
  boolean: 'a boolean',
  object: 'an object',
  array: 'an array',
  null: 'null',
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

function joined(path: string, name: string): string {
  return path === '' || name === '' ? path + name : `${path}.${name}`
}

function quoted(path: string): string {
  return path === '' ? 'The body' : `'${path}'`
}

/** A JSON pointer as a parameter path: `/images/0/image_url` becomes `images[0].image_url`. */
function pathText(pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((path, part) => {
      if (/^\d+$/.test(part)) return `${path}[${part}]`
      return path === '' ? part : `${path}.${part}`
    }, '')
}
