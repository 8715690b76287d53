import type {
  ResponseCreateParamsBase,
  ResponseInputContent,
  ResponseInputItem,
  Tool as WireTool,
} from 'openai/resources/responses/responses'
import type { components } from '../../../../generated/types.ts'
import type { ChatRequest } from '../../../core/chat/chat.ts'
import { dropped, type Target } from '../../../core/model.ts'
import { writeChat } from '../../openai-compatible/chat-request.ts'
import type { ChatDialect } from '../../openai-compatible/dialect.ts'
import type { Notes, WrittenChat } from '../../wire/fields.ts'
import { families } from '../families.ts'
import { writeSearch } from './search.ts'
import { thoughtsOfCall } from './thoughts.ts'

type Schemas = components['schemas']
type Message = ChatRequest['messages'][number]
type Answer = Schemas['AssistantMessage']
type Part = Schemas['ContentPart']
export type WireRequest = ResponseCreateParamsBase & { input: ResponseInputItem[] }

/** Fields that the two APIs of OpenAI have in common. */
const sameFields = [
  'metadata',
  'model',
  'moderation',
  'parallel_tool_calls',
  'prompt_cache_key',
  'prompt_cache_options',
  'prompt_cache_retention',
  'safety_identifier',
  'service_tier',
  'stream',
  'temperature',
  'top_p',
  'user',
] as const

/** What the Responses API accepts of a chat request, before its members are renamed. */
const dialect: ChatDialect = {
  name: "OpenAI's Responses API",
  only: new Set([
    ...sameFields,
    'max_completion_tokens',
    'messages',
    'reasoning_effort',
    'response_format',
    'tool_choice',
    'tools',
    'verbosity',
  ]),
  limit: 'max_completion_tokens',
  alwaysCounts: true,
  noNames: true,
  customTools: true,
  toolsWhileThinking: true,
  takesExtraContent: true,
  callIds: { pattern: /^.{1,64}$/s, length: 64 },
  families,
  partMark: 'prompt_cache_breakpoint',
  takesBack: [],
}

/** Translates the canonical request to the Responses API (docs/vendors.md#openai-responses). */
export function writeResponses(original: ChatRequest, target: Target): WrittenChat<WireRequest> {
  const { web_search_options: _search, ...rest } = original
  const { body, problems, warnings } = writeChat(rest, target, dialect)
  // The adjustments keep the types of the contract.
  const chat = body as unknown as ChatRequest
  if (original.stream_options?.include_obfuscation === true) {
    const reason = 'The events of the Responses API are rewritten without their padding.'
    warnings.push(dropped('stream_options.include_obfuscation', true, reason))
  }
  const most = limitOf(chat, original, warnings)
  const { reasoning_effort: effort } = chat
  const text = textOf(chat.response_format, body['verbosity'])
  const search = writeSearch(original, target, { problems, warnings })
  const tools = [...(chat.tools ?? []).map(writeTool), ...(search?.tools ?? [])]
  return {
    body: {
      ...Object.fromEntries(
        sameFields.flatMap((name) => (name in body ? [[name, body[name]]] : [])),
      ),
      input: inputOf(chat.messages, target, { problems, warnings }),
      ...(tools.length > 0 ? { tools } : {}),
      ...(search === undefined ? {} : { max_tool_calls: search.max_tool_calls }),
      ...choiceOf(chat),
      ...(most === undefined ? {} : { max_output_tokens: most }),
      ...(effort == null ? {} : { reasoning: { effort } }),
      ...(Object.keys(text).length > 0 ? { text } : {}),
      // Nothing is kept at the vendor: the reasoning travels with the conversation, encrypted.
      store: false,
      include:
        search === undefined
          ? ['reasoning.encrypted_content']
          : ['reasoning.encrypted_content', 'web_search_call.action.sources'],
      ...(chat.stream === true ? { stream_options: { include_obfuscation: false } } : {}),
    },
    problems,
    warnings,
  }
}

/** The vendor refuses a smaller limit. */
const outputTokensMin = 16

function limitOf(
  { max_completion_tokens: most }: ChatRequest,
  original: ChatRequest,
  warnings: Notes['warnings'],
): number | undefined {
  if (typeof most !== 'number' || most >= outputTokensMin) return most ?? undefined
  const param = original.max_completion_tokens == null ? 'max_tokens' : 'max_completion_tokens'
  const reason = `${dialect.name} accepts at least ${outputTokensMin}.`
  warnings.push({ param, requested: most, applied: outputTokensMin, reason })
  return outputTokensMin
}

type Text = NonNullable<WireRequest['text']>

function textOf(format: ChatRequest['response_format'], verbosity: unknown): Text {
  // The vendor validates the word; the contract does not list the field.
  const shown = verbosity == null ? {} : { verbosity: verbosity as Text['verbosity'] }
  if (format === undefined || format.type === 'text') return shown
  if (format.type === 'json_object') return { ...shown, format: { type: 'json_object' } }
  const { name, description, schema = {}, strict } = format.json_schema
  return {
    ...shown,
    format: {
      type: 'json_schema',
      name,
      schema,
      ...(description === undefined ? {} : { description }),
      ...(strict == null ? {} : { strict }),
    },
  }
}

function writeTool(tool: Schemas['Tool']): WireTool {
  if (tool.type === 'custom') {
    const { name, description, format } = tool.custom
    return {
      type: 'custom',
      name,
      ...(description === undefined ? {} : { description }),
      ...(format === undefined ? {} : { format: formatOf(format) }),
    }
  }
  const { name, description, parameters, strict } = tool.function
  return {
    type: 'function',
    name,
    ...(description === undefined ? {} : { description }),
    parameters: { type: 'object', properties: {}, ...parameters },
    // Without `strict` the Responses API would enforce the schema, unlike the chat API.
    strict: strict ?? false,
  }
}

type CustomFormat = Extract<WireTool, { type: 'custom' }>['format'] & object

/** The chat API nests a grammar in an object of its own. */
function formatOf({ grammar, ...format }: Record<string, unknown>): CustomFormat {
  // The vendor validates the format; the contract leaves it open.
  return { ...format, ...(grammar as object | undefined) } as CustomFormat
}

function choiceOf({ tool_choice: choice }: ChatRequest): Pick<WireRequest, 'tool_choice'> {
  if (choice === undefined) return {}
  if (typeof choice === 'string') return { tool_choice: choice }
  if (choice.type !== 'allowed_tools') return { tool_choice: namedTool(choice) }
  const { mode, tools } = choice.allowed_tools
  return { tool_choice: { type: 'allowed_tools', mode, tools: tools.map(namedTool) } }
}

function namedTool(
  choice: Schemas['FunctionToolChoice'] | Schemas['CustomToolChoice'],
): { type: 'function'; name: string } | { type: 'custom'; name: string } {
  return choice.type === 'function'
    ? { type: 'function', name: choice.function.name }
    : { type: 'custom', name: choice.custom.name }
}

function inputOf(messages: readonly Message[], target: Target, notes: Notes): ResponseInputItem[] {
  /** The ids of calls of custom tools, whose results have a type of their own. */
  const custom = new Set<string>()
  let oldCall = ''
  return messages.flatMap((message, index): ResponseInputItem[] => {
    switch (message.role) {
      case 'assistant': {
        for (const { id, type } of message.tool_calls ?? []) if (type === 'custom') custom.add(id)
        const items = answerItems(message, `messages[${index}]`, target, notes)
        if (!message.function_call) return items
        oldCall = `call_${index}`
        return [...items, { type: 'function_call', call_id: oldCall, ...message.function_call }]
      }
      case 'tool': {
        const { tool_call_id: id, content } = message
        const type = custom.has(id) ? 'custom_tool_call_output' : 'function_call_output'
        return [{ type, call_id: id, output: contentOf(content) }]
      }
      case 'function':
        return [{ type: 'function_call_output', call_id: oldCall, output: message.content ?? '' }]
      default:
        return [{ role: message.role, content: contentOf(message.content) }]
    }
  })
}

/** An answer as items; the thoughts of the first call come before the text that they led to. */
function answerItems(
  message: Answer,
  path: string,
  { upstreamModel }: Target,
  { warnings }: Notes,
): ResponseInputItem[] {
  const said = spoken(message)
  const text = said === '' ? [] : [{ role: 'assistant' as const, content: said }]
  const calls = message.tool_calls ?? []
  if (calls.length === 0) return text
  return calls.flatMap((call, place): ResponseInputItem[] => {
    const { thoughts, isDropped } = thoughtsOfCall(call, upstreamModel)
    if (isDropped) {
      const reason = 'Only the model that made this reasoning can read it.'
      const param = `${path}.tool_calls[${place}].extra_content.openai`
      warnings.push(dropped(param, 'reasoning', reason))
    }
    const before = thoughts.map((one) => ({ type: 'reasoning' as const, summary: [], ...one }))
    const made: ResponseInputItem =
      call.type === 'custom'
        ? { type: 'custom_tool_call', call_id: call.id, ...call.custom }
        : { type: 'function_call', call_id: call.id, ...call.function }
    return [...before, ...(place === 0 ? text : []), made]
  })
}

/** The text of an assistant message: the API takes no parts of a user in it. */
function spoken({ content }: Answer): string {
  if (!Array.isArray(content)) return content ?? ''
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('')
}

function contentOf(content: string | readonly Part[]): string | ResponseInputContent[] {
  return typeof content === 'string' ? content : content.map(writePart)
}

/** The part in the vendor's form, with its mark of a cached prefix. */
function writePart(part: Part): ResponseInputContent {
  const { type: _type, ...marked } = part as Part & Record<string, unknown>
  const mark = { prompt_cache_breakpoint: marked['prompt_cache_breakpoint'] } as Pick<
    ResponseInputContent,
    'prompt_cache_breakpoint'
  >
  switch (part.type) {
    case 'text':
      return { type: 'input_text', text: part.text, ...mark }
    case 'image_url': {
      const { url, detail = 'auto' } = part.image_url
      return { type: 'input_image', image_url: url, detail, ...mark }
    }
    case 'file':
      return { type: 'input_file', ...part.file, ...mark }
    case 'refusal':
      return { type: 'input_text', text: part.refusal }
    case 'input_audio':
      // The models of this API read no audio; the vendor names the part in its refusal.
      return part as unknown as ResponseInputContent
  }
}
