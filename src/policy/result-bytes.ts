/** The member in place of bytes that are stored apart; a vendor's own such member is escaped. */
const mark = '\0bytes'

/** A copy of a result in which each buffer is a marker with its length; the buffers are added to `pieces`. */
export function extractBuffers(value: unknown, pieces: Buffer[]): unknown {
  if (Buffer.isBuffer(value)) return { [mark]: pushed([value], pieces) }
  if (Array.isArray(value)) {
    const isPieces = value.length > 0 && value.every((one) => Buffer.isBuffer(one))
    // A list of buffers becomes one buffer.
    if (isPieces) return [{ [mark]: pushed(value, pieces) }]
    return value.map((one) => extractBuffers(one, pieces))
  }
  if (typeof value !== 'object' || value === null) return value
  const mapped = mapMembers(value, (inner) => extractBuffers(inner, pieces))
  return Object.hasOwn(value, mark) ? { [mark]: [mapped] } : mapped
}

function mapMembers(value: object, map: (inner: unknown) => unknown): object {
  const mapped: Record<string, unknown> = { ...value }
  for (const name of Object.keys(mapped)) mapped[name] = map(mapped[name])
  return mapped
}

function pushed(bytes: readonly Buffer[], pieces: Buffer[]): number {
  pieces.push(...bytes)
  return bytes.reduce((sum, { length }) => sum + length, 0)
}

/** The result of `extractBuffers` with its buffers again, as consecutive slices of `bytes`. */
export function restoreBuffers(value: unknown, bytes: Buffer): unknown {
  let at = 0
  const restored = (inner: unknown): unknown => {
    if (Array.isArray(inner)) return inner.map(restored)
    if (typeof inner !== 'object' || inner === null) return inner
    const { [mark]: marked } = inner as { [mark]?: number | [object] }
    if (typeof marked === 'number') return bytes.subarray(at, (at += marked))
    return mapMembers(marked === undefined ? inner : marked[0], restored)
  }
  return restored(value)
}
