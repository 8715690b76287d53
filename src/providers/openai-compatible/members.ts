import { ProviderFailure } from '../../core/failure.ts'
import { isMembers, type Members } from '../wire/any-json.ts'

/** Throws a ProviderFailure `malformed`. */
export function malformed(): never {
  throw new ProviderFailure('malformed', 'The answer is not what the provider promises.')
}

/** The members of an object. Throws a ProviderFailure for anything else. */
export function readMembers(value: unknown): Members {
  return isMembers(value) ? value : malformed()
}

export function isIndex(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

export function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

export function isAbsent(value: unknown): value is undefined | null {
  return value === undefined || value === null
}
