/** The members of a JSON object, not validated. */
export type Members = Record<string, unknown>

export function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The members of any JSON value; empty unless it is an object. */
export function membersOf(value: unknown): Members {
  return isMembers(value) ? value : {}
}

/** The items of any JSON value; empty unless it is a list. */
export function itemsOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** A non-empty string; undefined for any other value. */
export function textIn(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** The members of a JSON object; undefined for any other text. */
export function jsonObject(text: string): Members | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isMembers(value) ? value : undefined
  } catch {
    return undefined
  }
}
