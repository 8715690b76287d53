import type { FunctionDeclaration, GenerateContentConfig } from '@google/genai'
import type { ChatRequest } from '../../core/chat/chat.ts'
import { isIdle } from '../../core/chat/idle.ts'
import { dropped, type Target } from '../../core/model.ts'
import { jsonInWords, type Notes, type WrittenChat } from '../wire/fields.ts'
import { functionsOnly, type FunctionRequest } from '../wire/function-tools.ts'
import { newer, writeContents, type WireContent } from './contents.ts'
import { writeThinking, type ThinkingConfig } from './thinking.ts'

type GenerationConfig = Pick<
  GenerateContentConfig,
  | 'temperature'
  | 'topP'
  | 'maxOutputTokens'
  | 'stopSequences'
  | 'seed'
  | 'presencePenalty'
  | 'frequencyPenalty'
  | 'candidateCount'
  | 'responseMimeType'
  | 'responseJsonSchema'
  | 'responseLogprobs'
  | 'logprobs'
> & { thinkingConfig?: ThinkingConfig }
type WireRequest = {
  contents: WireContent[]
  systemInstruction?: { parts: { text: string }[] }
  generationConfig?: GenerationConfig
  tools?: { functionDeclarations: FunctionDeclaration[] }[]
  toolConfig?: { functionCallingConfig: { mode: string; allowedFunctionNames?: string[] } }
}
type Field = keyof ChatRequest

/** Fields that are sent in some form; any other field is reported as ignored. */
const known: ReadonlySet<string> = new Set<Field>([
  'model',
  'models',
  'messages',
  'temperature',
  'top_p',
  'n',
  'max_tokens',
  'max_completion_tokens',
  'stop',
  'seed',
  'presence_penalty',
  'frequency_penalty',
  'logprobs',
  'top_logprobs',
  'response_format',
  'tools',
  'tool_choice',
  'reasoning_effort',
  'stream',
  'stream_options',
  'cache_control',
])
const choicesMax = 8
/** Models that take no penalties (docs/vendors.md#gemini-request). */
const withoutPenalties = /^gemini-2\.5/

/** The canonical request for `generateContent` (docs/vendors.md#gemini-request). */
export function writeChat(given: ChatRequest, target: Target): WrittenChat<WireRequest> {
  const { request, ...notes } = functionsOnly(given, 'Gemini')
  for (const [field, value] of Object.entries(request)) {
    if (known.has(field) || isIdle(field, value)) continue
    notes.warnings.push(dropped(field, value, 'Gemini has no such parameter.'))
  }
  if ((request.n ?? 1) > choicesMax) {
    const message = `Gemini gives at most ${choicesMax} answers a call.`
    notes.problems.push({ param: 'n', message })
  }
  const { system, contents } = writeContents(request.messages, target.upstreamModel, notes)
  const { words = [], ...asked } = format(request, target, notes)
  const instructions = [...system, ...words]
  const generationConfig: GenerationConfig = {
    ...sampling(request, target, notes),
    ...asked,
    ...writeThinking(request, target, notes),
  }
  const body: WireRequest = {
    contents,
    ...(instructions.length > 0
      ? { systemInstruction: { parts: instructions.map((text) => ({ text })) } }
      : {}),
    ...(Object.keys(generationConfig).length > 0 ? { generationConfig } : {}),
    ...writeTools(request, notes),
  }
  return { body, ...notes }
}

function sampling(request: ChatRequest, target: Target, notes: Notes): GenerationConfig {
  const maxOutputTokens = request.max_completion_tokens ?? request.max_tokens ?? undefined
  const stopSequences = [request.stop ?? []].flat()
  const config: GenerationConfig = {
    ...(typeof request.temperature === 'number' ? { temperature: request.temperature } : {}),
    ...(typeof request.top_p === 'number' ? { topP: request.top_p } : {}),
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    ...(stopSequences.length > 0 ? { stopSequences } : {}),
    ...(typeof request.seed === 'number' ? { seed: request.seed } : {}),
    ...((request.n ?? 1) > 1 ? { candidateCount: request.n! } : {}),
    ...(request.logprobs === true
      ? { responseLogprobs: true, logprobs: request.top_logprobs ?? 0 }
      : {}),
  }
  for (const field of ['presence_penalty', 'frequency_penalty'] as const) {
    const penalty = request[field]
    if (penalty === undefined || penalty === null || isIdle(field, penalty)) continue
    if (withoutPenalties.test(target.upstreamModel)) {
      notes.warnings.push(dropped(field, penalty, `${target.upstreamModel} does not take it.`))
    } else config[field === 'presence_penalty' ? 'presencePenalty' : 'frequencyPenalty'] = penalty
  }
  return config
}

function format(
  { response_format: asked, tools = [] }: ChatRequest,
  { upstreamModel }: Target,
  { warnings }: Notes,
): GenerationConfig & { words?: string[] } {
  if (asked === undefined || asked.type === 'text') return {}
  const schema = asked.type === 'json_schema' ? asked.json_schema.schema : undefined
  if (tools.length > 0 && !newer.test(upstreamModel)) {
    const reason = `${upstreamModel} is asked for JSON in words: with tools it cannot enforce it.`
    const param = 'response_format'
    warnings.push({ param, requested: asked.type, applied: 'system', reason })
    return { words: [jsonInWords(schema)] }
  }
  const responseMimeType = 'application/json'
  if (schema === undefined) return { responseMimeType }
  return { responseMimeType, responseJsonSchema: schema }
}

const modes = { none: 'NONE', auto: 'AUTO', required: 'ANY' }

function writeTools(
  { tools = [], tool_choice: choice }: FunctionRequest,
  { warnings }: Notes,
): Pick<WireRequest, 'tools' | 'toolConfig'> {
  if (tools.length === 0) return {}
  const strict = tools.findIndex(({ function: { strict: asked } }) => asked === true)
  if (strict >= 0) {
    const param = `tools[${strict}].function.strict`
    warnings.push(dropped(param, true, 'Gemini does not hold calls to their schema strictly.'))
  }
  const functionDeclarations = tools.map(({ function: { name, description, parameters } }) => ({
    name,
    ...(description === undefined ? {} : { description }),
    ...(parameters === undefined ? {} : { parametersJsonSchema: parameters }),
  }))
  const config =
    choice === undefined
      ? undefined
      : typeof choice === 'string'
        ? { mode: modes[choice] }
        : { mode: 'ANY', allowedFunctionNames: [choice.function.name] }
  return {
    tools: [{ functionDeclarations }],
    ...(config === undefined ? {} : { toolConfig: { functionCallingConfig: config } }),
  }
}
