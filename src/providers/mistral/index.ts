import type { components } from '../../../generated/types.ts'
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
      'frequency_penalty',
      'guardrails',
      'max_tokens',
      'messages',
      'metadata',
      'model',
      'n',
      'parallel_tool_calls',
      'prediction',
      'presence_penalty',
      'prompt_cache_key',
      'prompt_mode',
      'random_seed',
      'reasoning_effort',
      'response_format',
      'safe_prompt',
      'stop',
      'stream',
      'temperature',
      'tool_choice',
      'tools',
      'top_p',
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
    takesBack: [],
    finishReasons: { model_length: 'length' },
  },
})

/** Sound and files have other forms here (docs/vendors.md#openai-compatible-endpoints). */
function writePart(part: components['schemas']['ContentPart']): object {
  if (part.type === 'input_audio') return { ...part, input_audio: part.input_audio.data }
  if (part.type !== 'file') return part
  const { file_id: id, file_data: data, filename: name } = part.file
  if (id !== undefined) return { type: 'file', file_id: id }
  const named = name === undefined ? {} : { document_name: name }
  return { type: 'document_url', document_url: data ?? '', ...named }
}
