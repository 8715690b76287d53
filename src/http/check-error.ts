import type { Check, CheckError } from '../../generated/checks.js'
import { GatewayError, type ErrorCode } from '../core/error.ts'

/** Throws a GatewayError that names the parameter and the remedy, unless the check passes. */
export function assertValid<T>(check: Check<T>, value: unknown, prefix = ''): asserts value is T {
  if (check(value)) return
  throw errorOf(mostTelling(check.errors ?? []), prefix)
}

/**
 * Ajv reports the errors of all branches of an `anyOf`. The deepest one is the most specific; among
 * equals, wrong types and enum values say the least.
 */
function mostTelling(errors: readonly CheckError[]): CheckError | undefined {
  const clarity = (keyword: string) => (keyword === 'type' ? 0 : keyword === 'enum' ? 1 : 2)
  const weight = ({ instancePath, keyword }: CheckError) =>
    instancePath.split('/').length * 3 + clarity(keyword)
  return errors
    .filter(({ keyword, params }) => keyword !== 'anyOf' && params['type'] !== 'null')
    .reduce<CheckError | undefined>(
      (best, error) => (best === undefined || weight(error) > weight(best) ? error : best),
      undefined,
    )
}

function errorOf(error: CheckError | undefined, prefix: string): GatewayError {
  if (error === undefined) return new GatewayError('invalid_value', 'The request is not valid.')
  const { keyword, params, parentSchema } = error
  const path = joined(prefix, pathText(error.instancePath))
  const within = (name: unknown) => joined(path, String(name))
  const about = parentSchema?.description?.trim().split('\n', 1)[0]
  const make = (code: ErrorCode, param: string, text: string) =>
    new GatewayError(code, text, param === '' ? {} : { param })
  switch (keyword) {
    case 'required': {
      const param = within(params['missingProperty'])
      return make('missing_required_parameter', param, `'${param}' is required.`)
    }
    case 'additionalProperties': {
      const param = within(params['additionalProperty'])
      const text = `'${param}' is not a parameter of this operation.`
      const remedy = 'Remove it; /openapi.json lists those it has.'
      return make('unknown_parameter', param, `${text} ${remedy}`)
    }
    case 'enum': {
      const allowed = [params['allowedValues']].flat()
      const code = allowed.length === 1 ? 'unsupported_parameter' : 'invalid_value'
      return make(
        code,
        path,
        `${quoted(path)} must be ${allowed.length === 1 ? '' : 'one of: '}${allowed.join(', ')}.`,
      )
    }
    case 'const':
      return make(
        'invalid_value',
        path,
        `${quoted(path)} must be ${String(params['allowedValue'])}.`,
      )
    case 'discriminator': {
      const param = within(params['tag'])
      const known = parentSchema?.discriminator?.values ?? []
      return make('invalid_value', param, `'${param}' must be one of: ${known.join(', ')}.`)
    }
    case 'pattern':
      if (params['pattern'] === '\\S')
        return make('invalid_value', path, `${quoted(path)} must not be blank.`)
      return make(
        'invalid_value',
        path,
        `${quoted(path)} is malformed. ${about ? `Expected: ${about}` : ''}`.trim(),
      )
    case 'type': {
      const types = [params['type']].flat().map((type) => typeNames[String(type)] ?? type)
      const given = typeNames[typeOf(error.data)]
      return make(
        'invalid_value',
        path,
        `${quoted(path)} must be ${types.join(' or ')}, not ${given}.`,
      )
    }
    case 'minItems':
    case 'maxItems':
    case 'minLength':
    case 'maxLength': {
      const limit = Number(params['limit'])
      const unit = keyword.endsWith('Items') ? 'item' : 'character'
      const most = `${keyword.startsWith('max') ? 'at most' : 'at least'} ${limit}`
      const text = `${quoted(path)} must have ${most} ${unit}${limit === 1 ? '' : 's'}.`
      return make('invalid_value', path, text)
    }
    default:
      return make('invalid_value', path, `${quoted(path)} ${error.message ?? 'is not valid'}.`)
  }
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

/** A JSON pointer as a parameter's name: `/images/0/image_url` as `images[0].image_url`. */
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
