import type { components } from '../../../generated/types.ts'
import type { ChatRequest, OnlyNative } from '../../core/chat/chat.ts'
import { GatewayError } from '../../core/error.ts'
import { dropped, type Warning } from '../../core/model.ts'
import { mediaType, pictureKind } from '../../core/image/picture.ts'
import { isSvg } from '../../core/image/svg.ts'
import { currentIn, readCompaction } from './compaction.ts'
import { nativeItem, plainItem } from './client-tools.ts'
import { inputArgument, type Tools } from './tools.ts'

type Schemas = components['schemas']
export type InputItem = Schemas['ResponseInputItem']
type Part = Schemas['ResponsePart']
type Message = ChatRequest['messages'][number]
type AssistantMessage = Schemas['AssistantMessage']
type ExtraContent = Schemas['ToolCallExtraContent']
type ChatPart = Schemas['ContentPart']

export type ItemOptions = {
  tools: Tools
  /** Whether custom tools stay custom tools. */
  takesCustom: boolean
  /** Reads `encrypted_content`; undefined if the gateway did not write it for this account. */
  open: (sealed: string) => ExtraContent | undefined
  warnings: Warning[]
}

/** The messages of a conversation; `params[i]` is the parameter of message `i`. */
export type Conversation = { messages: Message[]; params: string[]; only?: OnlyNative | undefined }

/** Converts items to messages. Throws a GatewayError for an item that the gateway cannot read. */
export function readItems(items: readonly InputItem[], options: ItemOptions): Conversation {
  const { tools, takesCustom, warnings } = options
  const draft = draftConversation()
  const isCurrent = currentIn(items)
  let only: OnlyNative | undefined
  for (const [index, original] of items.entries()) {
    if (!isCurrent(original)) continue
    const param = `input[${index}]`
    const item = plainItem(original, tools.nameOf)
    const native = nativeItem(original, param)
    if (native?.warning) warnings.push(native.warning)
    only ??= native?.only
    switch (item.type) {
      case 'message': {
        const { role, content } = item
        if (role === 'assistant') draft.say(spoken(content, param), param)
        else draft.ask({ role, content: contentOf(content) }, param)
        break
      }
      case 'reasoning':
        draft.think(readThought(item, param, options), param)
        break
      case 'function_call': {
        const { call_id: id, arguments: text } = item
        const called = { name: tools.nameOf(item), arguments: text }
        draft.call({ id, type: 'function', function: called }, param)
        break
      }
      case 'custom_tool_call': {
        const { call_id: id, input } = item
        const name = tools.nameOf(item)
        const wrapped = { name, arguments: JSON.stringify({ [inputArgument]: input }) }
        const made = takesCustom
          ? { id, type: 'custom' as const, custom: { name, input } }
          : { id, type: 'function' as const, function: wrapped }
        draft.call(made, param)
        break
      }
      case 'function_call_output':
      case 'custom_tool_call_output':
        draft.result(item.call_id, contentOf(item.output), param)
        break
      case 'image_generation_call': {
        const { result, status } = item
        if (result) draft.show(dataUrlOf(result, `${param}.result`), param)
        else if (status !== 'failed') warnings.push(dropped(`${param}.result`, result, noPicture))
        break
      }
      case 'web_search_call':
        // The text after it says what was found; only OpenAI takes the item back.
        break
      case 'configuration_update':
      case 'additional_tools':
        // `request.ts` has read them: calls before the item may name them.
        break
      case 'compaction': {
        const found = readCompaction(item, param, options.open)
        draft.ask({ role: 'user', content: found.text }, param)
        only = found.only ?? only
        break
      }
      case 'compaction_trigger':
        // `request.ts` asks for a summary after the conversation.
        break
      case 'item_reference':
        throw new TypeError(`The history has replaced the reference ${item.id}.`)
    }
  }
  return { ...draft.end(), only }
}

const noPicture = 'The image is neither in the item nor stored, so the model does not see it.'
/** Characters of base64 that show the format of a picture. */
const headCharacters = 64

/** The picture of an item as a data URL with its media type. Throws a GatewayError for other data. */
function dataUrlOf(base64: string, param: string): string {
  const head = [Buffer.from(base64.slice(0, headCharacters))]
  const kind = pictureKind(head) ?? (isSvg(head) ? 'svg' : undefined)
  if (kind === undefined) {
    const text = 'This is not a PNG, JPEG, WebP or GIF image in base64.'
    throw new GatewayError('invalid_value', text, { param })
  }
  return `data:${mediaType(kind)};base64,${base64}`
}

type Thought = { text: string; extra: ExtraContent | undefined }

function readThought(
  { summary, encrypted_content: sealed }: Schemas['ResponseReasoning'],
  param: string,
  { open, warnings }: ItemOptions,
): Thought {
  const text = summary.map((part) => part.text).join('\n\n')
  const extra = sealed == null ? undefined : open(sealed)
  if (sealed != null && extra === undefined) {
    const reason = 'The gateway did not write this reasoning for this account.'
    warnings.push(dropped(`${param}.encrypted_content`, 'reasoning', reason))
  }
  return { text, extra }
}

/** Collects messages; the items of one answer of the model become one message. */
function draftConversation() {
  const messages: Message[] = []
  const params: string[] = []
  let answer: AssistantMessage | undefined
  let thought: ExtraContent | undefined

  const add = (message: Message, param: string) => {
    messages.push(message)
    params.push(param)
  }
  const endAnswer = () => {
    // Vendors refuse a message that only has reasoning.
    if (answer?.content === null && !answer.tool_calls && !answer.refusal && !answer.images) {
      messages.pop()
      params.pop()
    }
    answer = undefined
    thought = undefined
  }
  const answerAt = (param: string): AssistantMessage => {
    if (answer !== undefined) return answer
    answer = { role: 'assistant', content: null }
    add(answer, param)
    return answer
  }
  return {
    ask: (message: Message, param: string) => {
      endAnswer()
      add(message, param)
    },
    say: ({ text, refusal }: { text: string; refusal: string }, param: string) => {
      const said = answerAt(param)
      if (text !== '') said.content = joined(said.content, text)
      if (refusal !== '') said.refusal = joined(said.refusal, refusal)
    },
    think: ({ text, extra }: Thought, param: string) => {
      const said = answerAt(param)
      if (text !== '') said.reasoning_content = joined(said.reasoning_content, text)
      if (extra !== undefined) thought = { ...thought, ...extra }
    },
    show: (url: string, param: string) => {
      const images = (answerAt(param).images ??= [])
      images.push({ type: 'image_url', image_url: { url } })
    },
    call: (made: Schemas['ToolCall'], param: string) => {
      const calls = (answerAt(param).tool_calls ??= [])
      calls.push(thought === undefined ? made : { ...made, extra_content: thought })
      thought = undefined
    },
    result: (id: string, content: string | ChatPart[], param: string) => {
      endAnswer()
      add({ role: 'tool', tool_call_id: id, content: content.length > 0 ? content : '' }, param)
    },
    end: (): Conversation => {
      endAnswer()
      return { messages, params }
    },
  }
}

function joined(before: unknown, text: string): string {
  return typeof before === 'string' && before !== '' ? `${before}\n\n${text}` : text
}

/** The text and the refusal of an assistant message. */
function spoken(
  content: Schemas['ResponseMessageContent'],
  param: string,
): { text: string; refusal: string } {
  if (typeof content === 'string') return { text: content, refusal: '' }
  let [text, refusal] = ['', '']
  for (const [place, part] of content.entries()) {
    if (part.type === 'output_text' || part.type === 'input_text') text += part.text
    else if (part.type === 'refusal') refusal += part.refusal
    else {
      const path = `${param}.content[${place}].type`
      const reason = `'${path}': an assistant message takes output_text and refusal, not ${part.type}.`
      throw new GatewayError('invalid_value', reason, { param: path })
    }
  }
  return { text, refusal }
}

function contentOf(content: Schemas['ResponseMessageContent']): string | ChatPart[] {
  if (typeof content === 'string') return content
  return content.map(writePart)
}

function writePart(part: Part): ChatPart {
  switch (part.type) {
    case 'input_text':
    case 'output_text':
      return { ...marksOf(part), type: 'text', text: part.text }
    case 'refusal':
      return { type: 'text', text: part.refusal }
    case 'input_image': {
      const { image_url: url, detail } = part
      // Vendors check the word, as in the chat API.
      const level = detail == null ? {} : { detail: detail as 'auto' }
      return { ...marksOf(part), type: 'image_url', image_url: { url, ...level } }
    }
    case 'input_file': {
      const { file_url: url = '', file_data = url, filename } = part
      const named = filename == null ? {} : { filename }
      return { ...marksOf(part), type: 'file', file: { file_data, ...named } }
    }
    case 'input_audio':
      // Vendors check the format, as in the chat API.
      return part
  }
}

/** The mark of a cached prefix, which the chat API has too. */
function marksOf(part: object): object {
  const mark: unknown = Reflect.get(part, 'prompt_cache_breakpoint')
  return mark === undefined ? {} : { prompt_cache_breakpoint: mark }
}
