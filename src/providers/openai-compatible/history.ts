import type { components } from '../../../generated/types.ts'
import type { ChatRequest } from '../../core/chat/chat.ts'
import { dropped } from '../../core/model.ts'
import { callIdFor, type CallIds } from '../wire/ids.ts'
import { answerFields, type AnswerField, type Message } from './dialect.ts'
import type { Draft } from './draft.ts'

type Schemas = components['schemas']
type Answer = Schemas['AssistantMessage'] & Partial<Record<AnswerField, unknown>>
type Part = Schemas['ContentPart']
const anyIds: CallIds = { pattern: /^/, length: 0 }

/** Message members in OpenAI's protocol, by role. */
const membersByRole: Readonly<Record<Message['role'], ReadonlySet<string>>> = {
  system: new Set(['role', 'content']),
  developer: new Set(['role', 'content']),
  user: new Set(['role', 'content']),
  // writeAnswer removes members that only answers have, without a warning.
  assistant: new Set(['role', 'content', 'tool_calls', 'function_call', ...answerFields]),
  // `name` is removed without a warning, since the id of the call gives the name.
  tool: new Set(['role', 'content', 'tool_call_id', 'name']),
  function: new Set(['role', 'content', 'name']),
}

/**
 * A conversation with only the members that the vendor accepts: many vendors reject unknown
 * members, such as another vendor's reasoning, or call ids in another format.
 */
export function writeHistory(messages: ChatRequest['messages'], draft: Draft): Message[] {
  if (draft.dialect.takesBack === undefined) return messages
  const { arrange } = draft.dialect
  const written: Message[] = []
  const places: number[] | undefined = arrange && []
  for (let index = 0; index < messages.length; index++) {
    const message = writeMessage(messages[index]!, index, draft)
    if (message.role === 'assistant' && isSilent(message)) continue
    written.push(message)
    places?.push(index)
  }
  return arrange === undefined ? written : arrange(written, places!, draft.warnings)
}

function writeMessage(original: Message, index: number, draft: Draft): Message {
  const { noNames, noDeveloper, callIds = anyIds, takesBack = [] } = draft.dialect
  const members = membersByRole[original.role]
  let message = original
  for (const name in original) {
    if (members.has(name) || (name === 'name' && !noNames)) continue
    if (name === 'audio' && takesBack.includes('audio')) continue
    if (message === original) message = { ...original }
    takeOut(message, name, { index }, draft)
  }
  if (Array.isArray(message.content)) message = withParts(message, message.content, index, draft)
  switch (message.role) {
    case 'assistant':
      return writeAnswer(message, draft)
    case 'tool': {
      const { role, content, tool_call_id: id } = message
      return { role, content, tool_call_id: callIdFor(callIds, id) }
    }
    case 'developer':
      return noDeveloper ? { ...message, role: 'system' } : message
    default:
      return message
  }
}

function withParts(
  message: Message,
  content: readonly Part[],
  index: number,
  draft: Draft,
): Message {
  let isSame = true
  const written = content.map((part, place) => {
    const one = writePart(part, index, place, draft)
    isSame &&= one === part
    return one
  })
  // `written` may hold parts in the vendor's form, which the contract's type lacks.
  return isSame ? message : ({ ...message, content: written } as unknown as Message)
}

/** The members of the object that a part holds under the name of its type. */
const partMembers: Readonly<Record<Part['type'], ReadonlySet<string> | undefined>> = {
  text: undefined,
  refusal: undefined,
  image_url: new Set(['url', 'detail']),
  input_audio: new Set(['data', 'format']),
  file: new Set(['file_data', 'file_id', 'filename']),
}

function writePart(original: Part, index: number, place: number, draft: Draft): object {
  const { dialect } = draft
  const { type } = original
  // Any object can be read as a record of unknown values.
  let part = original as unknown as Record<string, unknown>
  for (const name in original) {
    if (name === 'type' || name === type || name === dialect.partMark) continue
    if (name === 'cache_control' && dialect.takesCacheControl) continue
    if (part === (original as object)) part = { ...part }
    takeOut(part, name, { index, place }, draft)
  }
  const members = partMembers[type]
  if (members !== undefined) {
    const medium = part[type] as object
    for (const name in medium) {
      if (members.has(name)) continue
      if (part[type] === medium) part = { ...part, [type]: { ...medium } }
      takeOut(part[type] as object, name, { index, place, type }, draft)
    }
  }
  // `part` is still a content part: only members outside its type were removed.
  return dialect.part === undefined ? part : dialect.part(part as unknown as Part)
}

/** Removes a member with a warning, except null and cache marks, which do not affect the answer. */
function takeOut(from: object, name: string, at: Place, draft: Draft): void {
  // Any object can be read as a record of unknown values.
  const members = from as Record<string, unknown>
  const value = members[name]
  delete members[name]
  if (value === null || value === undefined || name === 'cache_control') return
  const reason = `${draft.target.provider.id} does not accept this member.`
  const { index, place, type } = at
  const part = place === undefined ? '' : `.content[${place}]`
  const path = `messages[${index}]${part}${type === undefined ? '' : `.${type}`}`
  draft.warnings.push(dropped(`${path}.${name}`, value, reason))
}

/** A message, a part of it, or a member of the part. */
type Place = { index: number; place?: number; type?: Part['type'] }

/** The same object without the mark `cache_control`. */
export function withoutCacheControl<Marked extends object>(marked: Marked): Marked {
  if (!('cache_control' in marked)) return marked
  const { cache_control: _mark, ...rest } = marked
  // The type stays the same, since `cache_control` is optional.
  return rest as unknown as Marked
}

function writeAnswer(message: Answer, { dialect }: Draft): Schemas['AssistantMessage'] {
  const { callIds = anyIds, takesExtraContent, wantsReasoning, takesBack = [] } = dialect
  const answer = { ...message }
  if (!takesBack.includes('refusal')) answer.content = wordsOf(answer)
  for (const field of answerFields) if (!takesBack.includes(field)) delete answer[field]
  if (answer.function_call === null) delete answer.function_call
  if (!answer.tool_calls?.length) {
    delete answer.tool_calls
    return answer
  }
  answer.tool_calls = answer.tool_calls.map((call) => {
    const written = writeCall(call, callIds)
    const { extra_content: extra } = call
    return takesExtraContent && extra ? { ...written, extra_content: extra } : written
  })
  // Calls of another vendor lack reasoning; a space replaces it, since vendors reject an empty text.
  if (wantsReasoning) answer.reasoning_content ||= ' '
  return answer
}

/** Whether an answer has no content: vendors reject such an answer. */
function isSilent({ content, refusal, tool_calls: calls, ...rest }: Answer): boolean {
  return !content?.length && !refusal && !calls?.length && !rest.function_call && !('audio' in rest)
}

/** The content, with a refusal as text for vendors that do not accept `refusal`. */
function wordsOf({ content, refusal }: Answer): Answer['content'] {
  if (!Array.isArray(content)) return content || refusal || content
  return content.map((part) =>
    part.type === 'refusal' ? { type: 'text', text: part.refusal } : part,
  )
}

function writeCall(call: Schemas['ToolCall'], callIds: CallIds): Schemas['ToolCall'] {
  const id = callIdFor(callIds, call.id)
  if (call.type === 'custom') {
    const { name, input } = call.custom
    return { id, type: 'custom', custom: { name, input } }
  }
  const { name, arguments: text } = call.function
  return { id, type: 'function', function: { name, arguments: text } }
}
