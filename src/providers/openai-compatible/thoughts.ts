type Said = { content?: unknown; reasoning?: unknown }
type Part = { text?: unknown; thinking?: unknown }

/**
 * A message or delta with its content as text and its reasoning in `reasoning_content`; the same
 * object when nothing changes. Some vendors send reasoning as `reasoning`, Mistral as parts of the
 * content (docs.mistral.ai, Reasoning). With reasoning alone the result may have no content.
 */
export function withPlainThoughts<Given extends Said>(said: Given): Given {
  const { content, reasoning, ...rest } = said
  if (typeof reasoning === 'string') {
    const kept = content === undefined ? {} : { content }
    // Other members are kept, and callers do without `content` and `reasoning`.
    return { ...kept, reasoning_content: reasoning, ...rest } as unknown as Given
  }
  if (!Array.isArray(content)) return said
  const parts = content.filter(isPart)
  const text = textOf(parts)
  const thoughts = textOf(parts.flatMap(({ thinking }) => thinking ?? []).filter(isPart))
  // As above.
  return {
    ...(text === '' && thoughts !== '' ? {} : { content: text }),
    ...(thoughts === '' ? {} : { reasoning_content: thoughts }),
    ...rest,
  } as unknown as Given
}

function isPart(value: unknown): value is Part {
  return typeof value === 'object' && value !== null
}

function textOf(parts: readonly Part[]): string {
  return parts.map(({ text }) => (typeof text === 'string' ? text : '')).join('')
}
