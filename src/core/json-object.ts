/** The members of a JSON object; undefined for any other text. */
export function jsonObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    // Any object is a record of unknown values.
    return isObject ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}
