/** The members of a value that may be any JSON: none unless it is an object. */
export function membersOf(value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return {}
  // Any object's members may be read as unknown.
  return value as Record<string, unknown>
}

/** The items of a value that may be any JSON: none unless it is a list. */
export function itemsOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** A text that says something; undefined for any other value. */
export function textIn(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
