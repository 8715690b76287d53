import type { components } from '../../../generated/types.ts'
import type { Warning } from '../../core/model.ts'
import { commonFields, type Message } from '../openai-compatible/dialect.ts'
import { protocolVendor } from '../openai-compatible/vendor.ts'

/** Mistral (docs/vendors.md#openai-compatible-endpoints). */
export const mistral = protocolVendor({
  id: 'mistral',
  name: 'Mistral',
  traceName: 'mistral_ai',
  baseUrl: 'https://api.mistral.ai/v1',
  namePrefixes: ['mistralai'],
  dialect: {
    only: new Set([
      ...commonFields,
      'frequency_penalty',
      'guardrails',
      'max_tokens',
      'metadata',
      'n',
      'parallel_tool_calls',
      'prediction',
      'presence_penalty',
      'prompt_cache_key',
      'prompt_mode',
      'random_seed',
      'safe_prompt',
    ]),
    renamed: { seed: 'random_seed' },
    limit: 'max_tokens',
    alwaysCounts: true,
    wantsSchema: true,
    requiredToolChoice: 'any',
    wantsParameters: true,
    callIds: { pattern: /^[a-zA-Z0-9]{9}$/, length: 9 },
    efforts: ['none', 'high'],
    noDeveloper: true,
    noNames: true,
    part: writePart,
    arrange,
    takesBack: [],
    finishReasons: { model_length: 'length' },
  },
  embeddingDialect: { takes: { dimensions: true }, dimensionsName: 'output_dimension' },
})

/** Writes audio and files in Mistral's form (docs/vendors.md#openai-compatible-endpoints). */
function writePart(part: components['schemas']['ContentPart']): object {
  if (part.type === 'input_audio') return { ...part, input_audio: part.input_audio.data }
  if (part.type !== 'file') return part
  const { file_id: id, file_data: data, filename: name } = part.file
  if (id !== undefined) return { type: 'file', file_id: id }
  const named = name === undefined ? {} : { document_name: name }
  return { type: 'document_url', document_url: data ?? '', ...named }
}

const bridge = 'OK.'

/**
 * Mistral rejects instructions after an answer or a tool result, and a user message directly after
 * a tool result. It continues a last answer of the assistant only with `prefix: true`.
 */
function arrange(
  messages: readonly Message[],
  places: readonly number[],
  warnings: Warning[],
): Message[] {
  const arranged: Message[] = []
  let instructions = 0
  for (const [index, message] of messages.entries()) {
    const before = arranged.at(-1)?.role
    const param = `messages[${places[index]}]`
    if (message.role === 'system' && (before === 'assistant' || before === 'tool')) {
      const reason =
        'Mistral accepts instructions only before the first answer; they were moved there.'
      warnings.push({ param, requested: places[index], applied: instructions, reason })
      arranged.splice(instructions++, 0, message)
      continue
    }
    if (message.role === 'system' && instructions === arranged.length) instructions++
    if (message.role === 'user' && before === 'tool') {
      const reason = `Mistral requires an answer after a tool result; the answer '${bridge}' was inserted.`
      warnings.push({ param, requested: null, applied: bridge, reason })
      arranged.push({ role: 'assistant', content: bridge })
    }
    arranged.push(message)
  }
  const last = arranged.at(-1)
  if (last?.role !== 'assistant') return arranged
  // The contract's message type lacks `prefix`, which only Mistral has.
  return [...arranged.slice(0, -1), { ...last, prefix: true } as Message]
}
