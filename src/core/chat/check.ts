import type { components } from '../../../generated/types.ts'
import { GatewayError } from '../error.ts'
import {
  dropped,
  makesEmbeddings,
  makesImages,
  type Model,
  type Problem,
  type Warning,
} from '../model.ts'
import type { ChatRequest } from './chat.ts'
import { schemaComplaint } from './json-schema.ts'
import { orderToolResults } from './order-tool-results.ts'
import type { CheckPicture, ExtractedTexts } from '../image/image.ts'
import {
  addressIn,
  hiddenPart,
  isMedium,
  notFetched,
  tooSmallPictures,
  unreadable,
} from './media.ts'

/** A generous upper bound: no tokenizer averages more characters per token on real text. */
const charactersPerTokenMax = 10

/** Throws a GatewayError for a conversation that no model can read. */
export function checkConversation(request: ChatRequest): void {
  const { messages, response_format: format } = request
  checkToolChoice(request)
  if (!messages.some(saysSomething)) {
    const last = messages.findLastIndex(({ role }) => role === 'user')
    const text = 'The messages have no content. Add a text to this one.'
    throw new GatewayError('invalid_value', text, {
      param: `messages[${Math.max(0, last)}].content`,
    })
  }
  checkDocuments(messages)
  orderToolResults(messages)
  if (format?.type !== 'json_schema' || format.json_schema.schema === undefined) return
  const complaint = schemaComplaint(format.json_schema.schema)
  if (complaint === undefined) return
  throw new GatewayError('invalid_value', `This is not a JSON Schema: ${complaint}`, {
    param: 'response_format.json_schema.schema',
  })
}

/** Refuses documents given as URLs: an endpoint of the operator could fetch internal URLs (SSRF). */
function checkDocuments(messages: ChatRequest['messages']): void {
  for (const [index, { role, content }] of messages.entries()) {
    // In the result of a tool, a text replaces the document (result-media.ts).
    if (role === 'tool' || !Array.isArray(content)) continue
    for (const [place, part] of content.entries()) {
      const name = part.type === 'file' ? addressIn(part.file) : undefined
      if (name === undefined) continue
      const param = `messages[${index}].content[${place}].file.${name}`
      throw new GatewayError('invalid_value', notFetched, { param })
    }
  }
}

const namesShownMax = 20
const nameShownCharactersMax = 100

/** Refuses a `tool_choice` that names a missing tool, before a useless answer is paid for. */
function checkToolChoice(request: ChatRequest): void {
  const { tools = [], functions = [], tool_choice: choice, function_call: called } = request
  if (typeof called === 'object') {
    const names = functions.map(({ name }) => name)
    checkName(called.name, names, { param: 'function_call.name', list: 'functions' })
  }
  if (choice === 'required' && tools.length === 0 && request.web_search_options == null) {
    const message =
      "`tool_choice` is 'required', but `tools` is empty. Send `tools`, or leave out `tool_choice`."
    throw new GatewayError('invalid_value', message, { param: 'tool_choice' })
  }
  if (typeof choice !== 'object') return
  if (choice.type !== 'allowed_tools') return checkTool(choice, tools, 'tool_choice')
  for (const [index, tool] of choice.allowed_tools.tools.entries()) {
    checkTool(tool, tools, `tool_choice.allowed_tools.tools[${index}]`)
  }
}

type NamedTool = components['schemas']['NamedTool']

function checkTool(tool: NamedTool, tools: ChatRequest['tools'] & {}, path: string): void {
  const isFunction = tool.type === 'function'
  const names = tools.flatMap((tool) => {
    if (isFunction) return tool.type === 'function' ? tool.function.name : []
    return tool.type === 'custom' ? tool.custom.name : []
  })
  const name = isFunction ? tool.function.name : tool.custom.name
  checkName(name, names, { param: `${path}.${tool.type}.name`, list: 'tools' })
}

type Listed = { param: string; list: 'tools' | 'functions' }

function checkName(name: string, names: readonly string[], { param, list }: Listed): void {
  if (names.includes(name)) return
  const shown = names.slice(0, namesShownMax).map((one) => one.slice(0, nameShownCharactersMax))
  const known = shown.length === 0 ? 'The list is empty.' : `The list has: ${shown.join(', ')}.`
  const unknown = name.slice(0, nameShownCharactersMax)
  throw new GatewayError('invalid_value', `'${unknown}' is not in \`${list}\`. ${known}`, { param })
}

/** Whether a message has content other than white space. */
function saysSomething(message: ChatRequest['messages'][number]): boolean {
  const { content } = message
  if (typeof content === 'string' && content.trim() !== '') return true
  if (Array.isArray(content) && content.some(isMoreThanSpace)) return true
  if (message.role !== 'assistant') return false
  return Boolean(message.tool_calls?.length || message.images?.length || message.refusal?.trim())
}

function isMoreThanSpace(part: components['schemas']['ContentPart']): boolean {
  if (part.type === 'text') return part.text.trim() !== ''
  return part.type !== 'refusal' || part.refusal.trim() !== ''
}

/** The parts of a request that the model does not support according to the catalog. */
export function modelProblems(request: ChatRequest, model: Model): Problem[] {
  if (model.undescribed) return []
  const { row } = model
  if (makesEmbeddings(model)) {
    const text = `${row.id} makes embeddings and does not support chat. Choose a chat model`
    const toolMessage = `${text}; list-models lists them.`
    return [{ param: 'model', message: `${text}, or use /v1/embeddings.`, toolMessage }]
  }
  const problems: Problem[] = []
  if (!row.capabilities.chat || makesImages(model)) {
    const message = `${row.id} does not support chat. Choose a chat model.`
    problems.push({ param: 'model', message })
  }
  if (!row.capabilities.tools && (request.tools ?? []).length > 0) {
    problems.push({ param: 'tools', message: `${row.id} does not support tools.` })
  }
  for (const [index, message] of request.messages.entries()) {
    // Media in the results of tools are replaced or moved (result-media.ts).
    if (message.role === 'tool' || !Array.isArray(message.content)) continue
    for (const [place, part] of message.content.entries()) {
      const problem = isMedium(part) ? unreadable(part, row) : undefined
      if (problem) problems.push({ param: `messages[${index}].content[${place}]`, ...problem })
    }
  }
  for (const problem of tooSmallPictures(request, row)) problems.push(problem)
  if (request.modalities?.includes('audio') && !row.output_modalities.includes('audio')) {
    problems.push({ param: 'modalities', message: `${row.id} cannot answer with audio.` })
  }
  for (const { limit, param, message, code } of exceededLimits(request, model)) {
    if (row.doubtful?.includes(limit) !== true) problems.push({ param, message, code })
  }
  return problems
}

/** Warnings for exceeded limits whose sources disagree: the request is sent anyway. */
export function doubtfulLimits(request: ChatRequest, model: Model): readonly Warning[] {
  const { undescribed, row } = model
  if (undescribed || row.doubtful === undefined) return []
  return exceededLimits(request, model)
    .filter(({ limit }) => row.doubtful?.includes(limit))
    .map(({ param, message, requested }) => {
      const reason = `${message} Sources disagree about this limit, so the request is sent unchanged.`
      return { param, requested: requested, applied: requested, reason }
    })
}

type ExceededLimit = Required<Omit<Problem, 'toolMessage'>> & {
  limit: 'max_output_tokens' | 'context_window'
  requested: number
}

function exceededLimits(request: ChatRequest, { row }: Model): ExceededLimit[] {
  const { context_window: window, max_output_tokens: outputMax } = row
  const param = request.max_completion_tokens != null ? 'max_completion_tokens' : 'max_tokens'
  const requested = request[param] ?? 0
  const exceeded: ExceededLimit[] = []
  if (outputMax !== undefined && requested > outputMax) {
    const message = `${row.id} writes at most ${outputMax} tokens.`
    exceeded.push({ param, message, code: 'invalid_value', limit: 'max_output_tokens', requested })
  }
  if (window === undefined) return exceeded
  const tokensMin = Math.ceil(textLength(request) / charactersPerTokenMax)
  if (tokensMin > window) {
    const message = `The messages are longer than the ${window} tokens that ${row.id} can read.`
    const problem = { param: 'messages', message, code: 'context_length_exceeded' } as const
    exceeded.push({ ...problem, limit: 'context_window', requested: tokensMin })
  }
  return exceeded
}

function textLength({ messages }: ChatRequest): number {
  let length = 0
  for (const { content } of messages) {
    if (typeof content === 'string') length += content.length
    else for (const part of content ?? []) if ('text' in part) length += part.text.length
  }
  return length
}

/**
 * The conversation with its pictures checked, each with its true media type; undefined when there is nothing to
 * correct. Throws a GatewayError that names the first unreadable picture; in the result of a tool, a text replaces it.
 */
export function checkedPictures(
  request: ChatRequest,
  texts: ExtractedTexts,
  check: CheckPicture,
): { request: ChatRequest; warnings: Warning[] | undefined } | undefined {
  if (!request.messages.some(hasPictures)) return undefined
  const warnings: Warning[] = []
  let isCorrected = false
  const read = (part: { image_url: { url: string } }, param: string) => {
    const { url: address } = part.image_url
    const url = check({ address, param: `${param}.image_url.url` }, texts, warnings)
    if (url === address) return part
    isCorrected = true
    return { ...part, image_url: { ...part.image_url, url } }
  }
  const readResult = (part: components['schemas']['ImagePart'], param: string) => {
    try {
      return read(part, param)
    } catch (error) {
      if (!(error instanceof GatewayError) || error.status >= 500) throw error
      isCorrected = true
      return hiddenPart({ part, param, reason: error.message }, warnings)
    }
  }
  const messages = request.messages.map((message, index) => {
    const readPart = message.role === 'tool' ? readResult : read
    const content = Array.isArray(message.content)
      ? message.content.map((part, place) =>
          part.type === 'image_url' ? readPart(part, `messages[${index}].content[${place}]`) : part,
        )
      : message.content
    if (message.role !== 'assistant' || !message.images) return { ...message, content }
    const images = message.images.flatMap((part, place) => {
      const param = `messages[${index}].images[${place}]`
      if (!/^data:image\/svg/i.test(part.image_url.url)) return [read(part, param)]
      isCorrected = true
      warnings.push(dropped(param, 'image/svg+xml', 'Models do not read vector pictures (SVG).'))
      return []
    })
    const isEmpty = images.length === 0 && !content?.length && !message.tool_calls?.length
    if (!isEmpty || message.images.length === 0) return { ...message, content, images }
    // Vendors refuse an assistant message without content.
    return { ...message, content: '(a vector picture)', images }
  })
  if (!isCorrected) return undefined
  // The cast is safe: only URLs of parts were changed.
  const corrected = { ...request, messages: messages as ChatRequest['messages'] }
  return { request: corrected, warnings: warnings.length === 0 ? undefined : warnings }
}

function hasPictures(message: ChatRequest['messages'][0]): boolean {
  if (message.role === 'assistant' && message.images) return true
  return Array.isArray(message.content) && message.content.some(({ type }) => type === 'image_url')
}
