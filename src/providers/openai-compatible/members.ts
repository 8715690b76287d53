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

/** No vendor gives more answers to a request. */
const choicesMax = 128

/** The answers that are listed. Throws a ProviderFailure. */
export function readChoices(choices: unknown): readonly unknown[] {
  return Array.isArray(choices) && choices.length <= choicesMax ? choices : malformed()
}

export function isChoiceIndex(value: unknown): value is number {
  return isIndex(value) && value < choicesMax
}

export function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

export function isAbsent(value: unknown): value is undefined | null {
  return value === undefined || value === null
}
