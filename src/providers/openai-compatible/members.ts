import { ProviderFailure } from '../../core/failure.ts'

/** An object of a vendor's answer, whose members may be anything. */
export type Members = Record<string, unknown>

/** Throws a ProviderFailure `malformed`. */
export function malformed(): never {
  throw new ProviderFailure('malformed', 'The answer is not what the provider promises.')
}

/** Throws a ProviderFailure for anything but an object. */
export function membersOf(value: unknown): Members {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) malformed()
  // Any object's members may be read as unknown.
  return value as Members
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
