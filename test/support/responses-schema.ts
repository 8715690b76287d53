import { openai } from './closed-chat/refusing.ts'
import type { Body } from './closed-chat/schema.ts'
import { allowOnly, Refused } from './spoken.ts'

const invalid = 'invalid_request_error'
/** The properties of ResponseCreateParams (openai 7.55.0, resources/responses). */
const fields = (
  'access_programs background client_metadata context_management conversation image include input instructions ' +
  'max_output_tokens max_tool_calls metadata model moderation parallel_tool_calls ' +
  'previous_response_id prompt prompt_cache_key prompt_cache_options prompt_cache_retention ' +
  'reasoning safety_identifier service_tier store stream stream_options temperature text ' +
  'tool_choice tools top_logprobs top_p truncation user'
).split(' ')
/** A member that Codex sends with each item to OpenAI itself. */
const ofCodex = 'internal_chat_message_metadata_passthrough'
const itemFields: Readonly<Record<string, string[]>> = {
  message: ['type', 'id', 'role', 'status', 'content', 'phase'],
  reasoning: ['type', 'id', 'status', 'summary', 'content', 'encrypted_content'],
  function_call: ['type', 'id', 'status', 'call_id', 'name', 'namespace', 'arguments'],
  function_call_output: ['type', 'id', 'status', 'call_id', 'output'],
  custom_tool_call: ['type', 'id', 'status', 'call_id', 'name', 'namespace', 'input'],
  custom_tool_call_output: ['type', 'id', 'status', 'call_id', 'output'],
  additional_tools: ['type', 'id', 'role', 'tools'],
  web_search_call: ['type', 'id', 'status', 'action'],
  tool_search_call: ['type', 'id', 'status', 'call_id', 'execution', 'arguments'],
  tool_search_output: ['type', 'id', 'status', 'call_id', 'execution', 'tools'],
  apply_patch_call: ['type', 'id', 'status', 'call_id', 'operation'],
  apply_patch_call_output: ['type', 'id', 'status', 'call_id', 'output'],
  shell_call: ['type', 'id', 'status', 'call_id', 'action', 'environment'],
  shell_call_output: ['type', 'id', 'status', 'call_id', 'output', 'max_output_length'],
  local_shell_call: ['type', 'id', 'status', 'call_id', 'action'],
  local_shell_call_output: ['type', 'id', 'status', 'call_id', 'output'],
  computer_call: ['type', 'id', 'status', 'call_id', 'actions', 'pending_safety_checks'],
  computer_call_output: ['type', 'id', 'status', 'call_id', 'output', 'acknowledged_safety_checks'],
  compaction: ['type', 'id', 'encrypted_content'],
  compaction_trigger: ['type', 'id'],
  configuration_update: ['type', 'id', 'reasoning', 'text'],
}
const partFields: Readonly<Record<string, string[]>> = {
  input_text: ['type', 'text', 'prompt_cache_breakpoint'],
  input_image: ['type', 'image_url', 'file_id', 'detail', 'prompt_cache_breakpoint'],
  output_text: ['type', 'text', 'annotations', 'logprobs'],
  refusal: ['type', 'refusal'],
  input_file: ['type', 'file_data', 'file_id', 'filename', 'prompt_cache_breakpoint'],
}
const searchFields = ['search_context_size', 'user_location']
/** The fields of tools that the client runs, and the member of their calls that has the arguments. */
const clientTools: Readonly<Record<string, string[]>> = {
  tool_search: ['type', 'execution', 'description', 'parameters'],
  apply_patch: ['type'],
  shell: ['type', 'environment'],
  local_shell: ['type'],
  computer: ['type'],
}
export const clientMembers: Readonly<Record<string, string>> = {
  tool_search: 'arguments',
  apply_patch: 'operation',
  shell: 'action',
  local_shell: 'action',
  computer: 'actions',
}
const toolFields: Readonly<Record<string, string[]>> = {
  function: ['type', 'name', 'description', 'parameters', 'strict', 'defer_loading'],
  custom: ['type', 'name', 'description', 'format'],
  namespace: ['type', 'name', 'description', 'tools'],
  web_search: ['type', ...searchFields, 'filters', 'external_web_access', 'search_content_types'],
  web_search_preview: ['type', ...searchFields, 'search_content_types'],
  ...clientTools,
}
const formatFields: Readonly<Record<string, string[]>> = {
  text: ['type'],
  json_object: ['type'],
  json_schema: ['type', 'name', 'schema', 'strict', 'description'],
}
const outputs: Readonly<Record<string, string>> = {
  function_call_output: 'function_call',
  custom_tool_call_output: 'custom_tool_call',
  tool_search_output: 'tool_search_call',
  apply_patch_call_output: 'apply_patch_call',
  shell_call_output: 'shell_call',
  local_shell_call_output: 'local_shell_call',
  computer_call_output: 'computer_call',
}
const calls = new Set(Object.values(outputs))
const contents = new Set(['function_call_output', 'custom_tool_call_output'])

/** The reasoning that the vendor can decrypt for an item. */
export const encryptedFor = (id: string) => `gAAAA-${id}`

/** Throws unless OpenAI's Responses API accepts the body. */
export function checkResponses(body: Body): void {
  allowOnly(body, fields, 'body', invalid)
  const { model, reasoning = {}, text = {}, max_output_tokens: most } = body
  if (typeof model !== 'string') refuse("Missing required parameter: 'model'.")
  if (!Array.isArray(body['input']) || body['input'].length === 0) refuse('input is empty')
  if (typeof most === 'number' && most < 16) {
    refuse(
      `Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got ${most} instead.`,
    )
  }
  for (const name of ['temperature', 'top_p', 'top_logprobs']) {
    if (body[name] !== undefined) refuse(`Unsupported parameter: '${name}' is not supported.`)
  }
  allowOnly(reasoning, ['effort', 'summary', 'context', 'mode'], 'reasoning', invalid)
  const { effort } = reasoning
  if (effort !== undefined && !openai.efforts!(model)!.includes(effort as string)) {
    refuse(`Unsupported value: 'reasoning.effort' does not support '${effort as string}'.`)
  }
  allowOnly(text, ['format', 'verbosity'], 'text', invalid)
  const { format = { type: 'text' } } = text
  allowOnly(format, formatFields[String((format as Body)['type'])] ?? [], 'text.format', invalid)
  if (format['type'] === 'json_schema' && typeof format['schema'] !== 'object') {
    refuse("Missing required parameter: 'text.format.schema'.")
  }
  if (Number(body['max_tool_calls'] ?? 1) < 1) refuse("Invalid 'max_tool_calls'")
  checkState(body)
  checkTools(body)
  checkInput(body['input'] as Body[])
}

/** Nothing of a call may be kept at the vendor. */
function checkState({ store, include, stream, stream_options: options }: Body): void {
  if (store !== false) refuse('The double expects store: false.')
  if (!(include as string[]).includes('reasoning.encrypted_content')) refuse('include')
  if (options === undefined) return
  allowOnly(options, ['include_obfuscation'], 'stream_options', invalid)
  if (stream !== true) refuse("'stream_options' is only allowed when 'stream' is true.")
}

/** The tools of a request, those in namespaces included. */
export function toolsIn({ tools = [], input }: Body): Body[] {
  const more = (Array.isArray(input) ? (input as Body[]) : []).flatMap((item) =>
    /^(?:additional_tools|tool_search_output)$/.test(String(item['type']))
      ? (item['tools'] as Body[])
      : [],
  )
  return [...(tools as Body[]), ...more].flatMap((tool) => [
    tool,
    ...((tool['tools'] ?? []) as Body[]),
  ])
}

function checkTools(body: Body): void {
  const { tool_choice: choice } = body
  const names = toolsIn(body).map((tool, index) => {
    const where = `tools[${index}]`
    allowOnly(tool, toolFields[String(tool['type'])] ?? [], where, invalid)
    if (String(tool['type']).startsWith('web_search')) {
      checkSearchTool(tool, where)
      return tool['type']
    }
    if (Object.hasOwn(clientTools, String(tool['type']))) return tool['type']
    if (!/^[\w-]{1,128}$/.test(String(tool['name']))) refuse(`Invalid '${where}.name'`)
    if (tool['type'] === 'function') {
      if (!['boolean', 'undefined'].includes(typeof tool['strict'])) refuse(`${where}.strict`)
      if ((tool['parameters'] as Body | undefined)?.['type'] !== 'object') {
        refuse(`Invalid schema for function '${String(tool['name'])}'`)
      }
    }
    const { format } = tool as { format?: Body }
    if (format?.['type'] === 'grammar') {
      allowOnly(format, ['type', 'syntax', 'definition'], `${where}.format`, invalid)
    }
    return tool['name']
  })
  if (choice === undefined || typeof choice === 'string') return
  const { type, name, mode, tools: allowed } = choice as Body
  if (type === 'allowed_tools') {
    allowOnly(choice, ['type', 'mode', 'tools'], 'tool_choice', invalid)
    if (mode !== 'auto' && mode !== 'required') refuse('tool_choice.mode')
    for (const tool of allowed as Body[]) checkNamed(tool, names)
    return
  }
  checkNamed({ type, name, ...(choice as Body) }, names)
}

function checkSearchTool({ filters, user_location: place }: Body, where: string): void {
  allowOnly(filters ?? {}, ['allowed_domains'], `${where}.filters`, invalid)
  const placeFields = ['type', 'city', 'country', 'region', 'timezone']
  allowOnly(place ?? {}, placeFields, `${where}.user_location`, invalid)
}

function checkNamed(tool: Body, names: unknown[]): void {
  allowOnly(tool, ['type', 'name'], 'tool_choice', invalid)
  if (!names.includes(tool['name'] ?? tool['type']))
    refuse(`Tool choice '${String(tool['name'])}' not found`)
}

function checkInput(input: Body[]): void {
  /** Types of calls without an output so far, by id. */
  const open = new Map<unknown, string>()
  for (const [index, item] of input.entries()) {
    const where = `input[${index}]`
    const { type = 'message' } = item as { type?: string }
    allowOnly(item, [...(itemFields[type] ?? []), ofCodex], where, invalid)
    if (type === 'message') checkMessage(item, where)
    if (type === 'compaction') checkEncrypted(item)
    if (type === 'compaction_trigger' && index < input.length - 1) {
      refuse("The 'compaction_trigger' item must be the final input item.")
    }
    if (type === 'reasoning') checkThought(item, input[index + 1])
    if (calls.has(type)) {
      const { call_id: id } = item
      if (typeof id !== 'string' || id.length > 64) refuse(`Invalid '${where}.call_id'`)
      open.set(id, type)
    }
    const answered = outputs[type]
    if (answered === undefined) continue
    if (open.get(item['call_id']) !== answered) {
      refuse(`No tool call found for ${type} with call_id ${String(item['call_id'])}.`)
    }
    if (contents.has(type)) checkContent(item['output'], `${where}.output`)
    open.delete(item['call_id'])
  }
  const [id] = [...open.keys()]
  if (id !== undefined) refuse(`No tool output found for function call ${id as string}.`)
}

function checkMessage({ role, content }: Body, where: string): void {
  if (!['user', 'assistant', 'system', 'developer'].includes(String(role))) refuse(`${where}.role`)
  const types = typeof content === 'string' ? [] : (content as Body[]).map(({ type }) => type)
  const own = types.filter((type) => type === 'output_text' || type === 'refusal')
  if (own.length !== (role === 'assistant' ? types.length : 0)) {
    refuse(`Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'.`)
  }
  checkContent(content, `${where}.content`)
}

function checkContent(content: unknown, where: string): void {
  if (typeof content === 'string') return
  if (!Array.isArray(content) || content.length === 0) refuse(`${where} is empty`)
  for (const part of content as Body[]) {
    allowOnly(part, partFields[String(part['type'])] ?? [], where, invalid)
    if (part['type'] === 'input_image' && typeof part['image_url'] !== 'string') refuse(where)
  }
}

function checkThought(item: Body, next?: Body): void {
  const { id, summary } = item
  if (typeof id !== 'string' || !Array.isArray(summary)) refuse('reasoning: id and summary')
  checkEncrypted(item)
  if (next === undefined) {
    refuse(`Item '${id}' of type 'reasoning' was provided without its required following item.`)
  }
}

function checkEncrypted({ id, encrypted_content: sealed }: Body): void {
  if (sealed !== encryptedFor(String(id))) {
    throw new Refused(
      400,
      'invalid_encrypted_content',
      'The encrypted content gAAA...wXBV could not be verified. Reason: Encrypted content could not be decrypted or parsed.',
    )
  }
}

function refuse(text: string): never {
  throw new Refused(400, invalid, text)
}
