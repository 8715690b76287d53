import type { Check, CheckError } from '../../generated/checks.js'
import { GatewayError } from '../core/error.ts'
import { complaintAbout, fieldName, type FieldNames } from './complaint.ts'

/** The caller's names of the checked values. */
type Naming = {
  /** The path of the checked value in the caller's request. */
  prefix?: string
  names?: FieldNames
}

/** Throws a GatewayError that names the parameter and the remedy if the check fails. */
export function assertValid<T>(
  check: Check<T>,
  value: unknown,
  naming: Naming = {},
): asserts value is T {
  if (check(value)) return
  throw complaintOf(check, naming)
}

/** The GatewayError for the errors of a check that has just failed. */
export function complaintOf(
  { errors }: Check<unknown>,
  { prefix = '', names }: Naming = {},
): GatewayError {
  const error = mostSpecific(errors ?? []) ?? errors?.[0]
  if (error === undefined) return new GatewayError('invalid_value', 'The request is not valid.')
  const { code, param: own, text } = complaintAbout(error, prefix, names)
  const param = own.replace(/^\w+/, (member) => fieldName(member, names))
  const message = text.replace(`'${own}'`, `'${param}'`)
  return new GatewayError(code, message, param === '' ? {} : { param })
}

/**
 * Ajv reports the errors of all branches of an `anyOf`. The deepest error is the most specific.
 * Among errors of equal depth it is the one whose branch is most likely meant. Wrong types of one value
 * become one error.
 */
function mostSpecific(errors: readonly CheckError[]): CheckError | undefined {
  const weight = (error: CheckError) => error.instancePath.split('/').length * 4 + clarity(error)
  const specific = errors.filter(
    ({ keyword, params }) => keyword !== 'anyOf' && keyword !== 'not' && !saysNull(params),
  )
  const best = specific.reduce<CheckError | undefined>(
    (most, error) => (most === undefined || weight(error) > weight(most) ? error : most),
    undefined,
  )
  if (best?.keyword !== 'type') return best
  const alike = specific.filter(
    ({ keyword, instancePath }) => keyword === 'type' && instancePath === best.instancePath,
  )
  const types = [...new Set(alike.flatMap(({ params }) => params['type']))]
  return { ...best, params: { ...best.params, type: types } }
}

/** How likely it is that the branch of an error is meant, from 0 to 3. */
function clarity({ keyword, data, params, parentSchema }: CheckError): number {
  if (keyword === 'type') return 0
  if (keyword === 'enum') return 1
  const { properties, discriminator } = parentSchema ?? {}
  const isTagMissing =
    keyword === 'discriminator'
      ? params['tagValue'] == null
      : keyword === 'required' && discriminator?.propertyName === params['missingProperty']
  if (isTagMissing) return 2
  if (keyword !== 'required' || properties === undefined) return 3
  // An object of the branch has at least one of its members.
  return Object.keys(data as object).some((name) => Object.hasOwn(properties, name)) ? 3 : 2
}

function saysNull(params: CheckError['params']): boolean {
  return params['type'] === 'null'
}
