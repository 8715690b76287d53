import type { Members } from '../wire/any-json.ts'
import { malformed } from './members.ts'

type Part = { text?: unknown; thinking?: unknown }

/**
 * A message or delta with its content as text and its reasoning in `reasoning_content`; the same object when
 * nothing changes. Some vendors send reasoning as `reasoning`, others as parts of the content
 * (docs/vendors.md#openai-compatible-endpoints). With reasoning alone the result may have no content.
 * Throws a ProviderFailure when a text is none.
 */
export function withPlainThoughts(said: Members): Members {
  const { content, reasoning, ...rest } = said
  if (!isText(rest['reasoning_content']) || !isText(rest['refusal'])) malformed()
  if (Array.isArray(content)) return withPlainParts(content, rest)
  if (!isText(content)) malformed()
  if (typeof reasoning !== 'string') return said
  const kept = content === undefined ? {} : { content }
  const { reasoning_content: thoughts, ...others } = rest
  return { ...kept, reasoning_content: thoughts || reasoning, ...others }
}

function withPlainParts(content: readonly unknown[], rest: Members): Members {
  const parts = content.filter(isPart)
  const text = textOf(parts)
  const thoughts = textOf(parts.flatMap(({ thinking }) => thinking ?? []).filter(isPart))
  return {
    ...(text === '' && thoughts !== '' ? {} : { content: text }),
    ...(thoughts === '' ? {} : { reasoning_content: thoughts }),
    ...rest,
  }
}

function isText(value: unknown): boolean {
  return value === undefined || value === null || typeof value === 'string'
}

function isPart(value: unknown): value is Part {
  return typeof value === 'object' && value !== null
}

function textOf(parts: readonly Part[]): string {
  return parts.map(({ text }) => (typeof text === 'string' ? text : '')).join('')
}
