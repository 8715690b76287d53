import { prune } from '../../core/prune.ts'
import type { FunctionDeclaration, GenerateContentConfig } from '@google/genai'
import type { ChatRequest, ReasoningEffort } from '../../core/chat/chat.ts'
import { hasDefaultValue } from '../../core/chat/default-values.ts'
import { dropped, type Target } from '../../core/model.ts'
import {
  jsonInWords,
  maxTokensOf,
  nearestEffort,
  reportIgnored,
  schemaOf,
  stopsOf,
  type Notes,
  type WrittenChat,
} from '../wire/fields.ts'
import { functionsOnly, type FunctionRequest } from '../wire/function-tools.ts'
import { newer, writeContents, type WireContent } from './contents.ts'
import { writeSearch } from './search.ts'

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
export type WireRequest = {
  contents: WireContent[]
  systemInstruction?: { parts: { text: string }[] }
  generationConfig?: GenerationConfig
  tools?: ({ functionDeclarations: FunctionDeclaration[] } | { googleSearch: object })[]
  toolConfig?: { functionCallingConfig: { mode: string; allowedFunctionNames?: string[] } }
}
type Field = keyof ChatRequest

/** Fields that Gemini receives besides those that all vendors do. */
const ownFields = ['seed', 'presence_penalty', 'frequency_penalty', 'logprobs', 'top_logprobs']
const choicesMax = 8

/** Translates the canonical request to `generateContent` (docs/vendors.md#gemini-request). */
export function writeChat(original: ChatRequest, target: Target): WrittenChat<WireRequest> {
  const { request, ...notes } = functionsOnly(original, 'Gemini')
  reportIgnored(request, ownFields, 'Gemini', notes)
  const { row } = target.model
  const most = row.capabilities['multiple_choices'] === false ? 1 : choicesMax
  if ((request.n ?? 1) > most) {
    const answers = most === 1 ? 'one answer' : `at most ${most} answers`
    notes.problems.push({ param: 'n', message: `${row.id} returns ${answers} per call.` })
  }
  const { system, contents } = writeContents(request.messages, target, notes)
  const { words = [], ...config } = format(request, target, notes)
  const instructions = [...system, ...words]
  const generationConfig: GenerationConfig = {
    ...sampling(request, target, notes),
    ...config,
    ...writeThinking(request, target, notes),
  }
  const body: WireRequest = {
    contents,
    ...(instructions.length > 0
      ? { systemInstruction: { parts: instructions.map((text) => ({ text })) } }
      : {}),
    ...(Object.keys(generationConfig).length > 0 ? { generationConfig } : {}),
    ...writeTools(request, notes),
    ...writeSearch(request, target, notes),
  }
  return { body, ...notes }
}

function sampling(request: ChatRequest, { model: { row } }: Target, notes: Notes) {
  const maxOutputTokens = maxTokensOf(request, notes)
  const stopSequences = stopsOf(request, refusedStop, notes)
  const taken = <F extends Field>(field: F): NonNullable<ChatRequest[F]> | null => {
    const value = request[field] ?? null
    const isSampling = field === 'temperature' || field === 'top_p'
    const refuses = row.chat?.without?.includes(field) === true
    if (!refuses && !(isSampling && row.capabilities['accepts_temperature'] === false)) return value
    if (!hasDefaultValue(field, value)) {
      notes.warnings.push(dropped(field, value, `${row.id} does not accept this parameter.`))
    }
    return null
  }
  const [temperature, topP] = [taken('temperature'), taken('top_p')]
  const presencePenalty = taken('presence_penalty') || undefined
  const frequencyPenalty = taken('frequency_penalty') || undefined
  const logprobs = taken('top_logprobs') ?? 0
  const config: GenerationConfig = {
    ...prune({ temperature, topP, maxOutputTokens }),
    ...(stopSequences.length > 0 ? { stopSequences } : {}),
    ...(typeof request.seed === 'number' ? { seed: request.seed } : {}),
    ...((request.n ?? 1) > 1 ? { candidateCount: request.n! } : {}),
    ...(taken('logprobs') === true ? { responseLogprobs: true, logprobs } : {}),
    ...prune({ presencePenalty, frequencyPenalty }),
  }
  return config
}

function refusedStop(stop: string): string | undefined {
  return stop === '' ? 'An empty stop sequence has no effect.' : undefined
}

function format(
  { response_format: original, tools = [] }: ChatRequest,
  { upstreamModel }: Target,
  { warnings }: Notes,
): GenerationConfig & { words?: string[] } {
  if (original === undefined || original.type === 'text') return {}
  const schema = schemaOf(original)
  if (tools.length > 0 && !newer.test(upstreamModel)) {
    const reason = `${upstreamModel} cannot enforce a format together with tools; the system prompt asks for it.`
    const param = 'response_format'
    warnings.push({ param, requested: original.type, applied: 'system', reason })
    return { words: [jsonInWords(schema)] }
  }
  const responseMimeType = 'application/json'
  if (schema === undefined) return { responseMimeType }
  return { responseMimeType, responseJsonSchema: schema }
}

function checkFunction(
  { name, strict }: NonNullable<FunctionRequest['tools']>[number]['function'],
  index: number,
  { problems, warnings }: Notes,
): void {
  const path = `tools[${index}].function`
  if (!/^[a-z_]/i.test(name)) {
    const message = "Gemini accepts names that begin with a letter or '_'."
    problems.push({ param: `${path}.name`, message, code: 'invalid_value' })
  }
  if (strict !== true) return
  const reason = 'Gemini does not enforce the schema of a tool call.'
  warnings.push(dropped(`${path}.strict`, true, reason))
}

const modes = { none: 'NONE', auto: 'AUTO', required: 'ANY' }

function writeTools(
  { tools = [], tool_choice: choice }: FunctionRequest,
  notes: Notes,
): Pick<WireRequest, 'tools' | 'toolConfig'> {
  if (tools.length === 0) return {}
  for (const [index, tool] of tools.entries()) checkFunction(tool.function, index, notes)
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

type ThinkingConfig = {
  includeThoughts?: true
  thinkingBudget?: number
  thinkingLevel?: ReasoningEffort
}

const budgets: Record<ReasoningEffort, number> = {
  none: 0,
  minimal: 512,
  low: 1024,
  medium: 8192,
  high: 24_576,
  xhigh: 24_576,
  max: 24_576,
}
/** Levels of all newer models; the default for rows without levels. */
const usual: readonly ReasoningEffort[] = ['low', 'medium', 'high']

/** The configuration for the requested effort; warns when the effort is adjusted. */
function writeThinking(
  { reasoning_effort: asked }: ChatRequest,
  { model: { row } }: Target,
  { warnings }: Notes,
): { thinkingConfig?: ThinkingConfig } {
  if (asked === undefined || asked === null) return {}
  if (!row.capabilities.reasoning) {
    if (asked === 'none') return {}
    warnings.push(dropped('reasoning_effort', asked, `${row.id} has no reasoning.`))
    return {}
  }
  const { efforts = usual, thinking_tokens_min: budgetMin } = row.chat ?? {}
  const effort = nearestEffort(efforts, asked)
  const includeThoughts = asked === 'none' ? {} : { includeThoughts: true as const }
  const adjusted = (applied: unknown) => {
    const reason = `${row.id} supports the efforts ${efforts.join(', ')}.`
    warnings.push({ param: 'reasoning_effort', requested: asked, applied, reason })
  }
  if (budgetMin === undefined) {
    if (effort !== asked) adjusted(effort)
    return { thinkingConfig: { thinkingLevel: effort, ...includeThoughts } }
  }
  const thinkingBudget = Math.max(budgetMin, budgets[asked])
  if (effort !== asked) adjusted(asked === 'none' ? thinkingBudget : effort)
  return { thinkingConfig: { thinkingBudget, ...includeThoughts } }
}
