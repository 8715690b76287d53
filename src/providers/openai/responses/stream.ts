import { malformed } from '../../openai-compatible/members.ts'
import { eventFailure } from '../../openai-compatible/failure.ts'
import { tooLarge } from '../../transport/answer-failure.ts'
import type { VendorTexts } from '../../transport/vendor-texts.ts'
import { itemsOf, membersOf, textIn, type Members } from '../../../core/any-json.ts'
import { callsMax } from '../../wire/ids.ts'
import { searchesShownMax, searchMembers } from '../../wire/web-search.ts'
import {
  brokenOff,
  chunkWriter,
  parseEvent,
  toolDelta,
  type ChunkWriter,
  type Translator,
} from '../../wire/translated-stream.ts'
import {
  callIn,
  failureIn,
  finishReasonOf,
  identityOf,
  paragraph,
  readUsage,
  type Reading,
} from './answer.ts'
import { citationsIn, searchCounter, searchIn } from './search.ts'
import { thoughtIn, withThoughts, type Thought } from './thoughts.ts'

type Options = Omit<Reading, 'request'> & { answerBytesMax: number }
/** A call of the answer; `isEmpty` until a piece of its arguments or its input arrives. */
type OpenCall = { index: number; member: CallMember; isEmpty: boolean }
type CallMember = { name: 'function'; text: 'arguments' } | { name: 'custom'; text: 'input' }

const functionMember: CallMember = { name: 'function', text: 'arguments' }
const customMember: CallMember = { name: 'custom', text: 'input' }

/** Translates the events of a response to chunks (docs/vendors.md#openai-responses). */
export function translator(options: Options): Translator {
  let identity = identityOf({}, options)
  let writer: ChunkWriter = chunkWriter(identity)
  /** The response of the last event that carried one. */
  let response: Members = {}
  let end: string | undefined
  const output = outputReader(options)
  const searches = searchCounter()
  const counted = () => searches.addTo(readUsage(response, options))

  return {
    read: (data) => {
      const event = membersOf(parseEvent(data))
      switch (event['type']) {
        case 'response.created':
          if (writer.hasBegun(0)) return ''
          identity = identityOf(membersOf(event['response']), options)
          writer = chunkWriter(identity)
          return ''
        case 'response.completed':
        case 'response.incomplete':
          response = membersOf(event['response'])
          end = finishReasonOf(response, output.hasCalls())
          return writer.finish(0, end)
        case 'response.failed':
          response = membersOf(event['response'])
          throw failureIn({ status: 'failed', ...response }, options.errors)
        case 'error':
          throw eventFailure({ error: event }, options.errors)
        default: {
          searches.read(event)
          const delta = output.read(event)
          return delta === undefined ? '' : writer.delta(0, delta)
        }
      }
    },
    finish: () => {
      if (end === undefined) throw brokenOff()
      return { usage: counted(), identity }
    },
    usageSoFar: counted,
    isOver: () => end !== undefined,
  }
}

/** Translates the events of output items to JSON deltas; undefined for events without a counterpart. */
function outputReader({ upstreamModel, errors, answerBytesMax }: Options) {
  const calls = new Map<unknown, OpenCall>()
  let thoughts: Thought[] = []
  let thoughtBytes = 0
  const found = foundReader(errors.texts)
  let length = 0
  let isNewMessage = false

  const begin = (item: Members, at: unknown): string | undefined => {
    isNewMessage ||= item['type'] === 'message' && length > 0
    // The pieces follow; the item at their end repeats them.
    const call = callIn({ ...item, arguments: '', input: '' }, errors.texts)
    if (call === undefined) return undefined
    if (calls.size >= callsMax) throw tooLarge()
    const index = calls.size
    const member = call.type === 'function' ? functionMember : customMember
    calls.set(at, { index, member, isEmpty: true })
    const before = thoughts
    thoughts = []
    return toolDelta(withThoughts({ index, ...call }, before, upstreamModel))
  }
  /** The whole item: its thought, and what a call did not send in pieces. */
  const end = (item: Members, at: unknown): string | undefined => {
    const thought = thoughtIn(item)
    if (thought !== undefined) {
      thoughtBytes += thought.encrypted_content.length
      if (thoughtBytes > answerBytesMax) throw tooLarge()
      thoughts.push(thought)
    }
    const open = calls.get(at)
    return open?.isEmpty ? piece(open, item[open.member.text]) : found(item, length)
  }
  const piece = (open: OpenCall | undefined, text: unknown): string | undefined => {
    if (open === undefined || typeof text !== 'string') return malformed()
    if (text === '') return undefined
    open.isEmpty = false
    const { index, member } = open
    return toolDelta({ index, [member.name]: { [member.text]: text } })
  }
  const said = (member: 'content' | 'refusal', text: unknown): string | undefined => {
    if (typeof text !== 'string') return malformed()
    if (text === '') return undefined
    const whole = isNewMessage && member === 'content' ? paragraph + text : text
    if (member === 'content') length += whole.length
    isNewMessage = false
    return `{"${member}":${JSON.stringify(whole)}}`
  }
  return {
    hasCalls: () => calls.size > 0,
    read: (event: Members): string | undefined => {
      const { output_index: at, delta } = event
      switch (event['type']) {
        case 'response.output_item.added':
          return begin(membersOf(event['item']), at)
        case 'response.output_item.done':
          return end(membersOf(event['item']), at)
        case 'response.output_text.delta':
          return said('content', delta)
        case 'response.refusal.delta':
          return said('refusal', delta)
        case 'response.function_call_arguments.delta':
        case 'response.custom_tool_call_input.delta':
          return piece(calls.get(at), delta)
        default:
          return undefined
      }
    },
  }
}

/** Gives the delta for a search, or for the sources of a message at the end of a text of `length`. */
function foundReader(texts: VendorTexts) {
  let searches = 0
  return (item: Members, length: number): string | undefined => {
    const search = searchIn(item, texts)
    const isShown = search !== undefined && searches++ < searchesShownMax
    const own = itemsOf(item['content']).map((part) => textIn(membersOf(part)['text']) ?? '')
    const start = length - own.join('').length
    const citations = item['type'] === 'message' ? citationsIn(item, start) : []
    const members = searchMembers({ searches: isShown ? [search] : [], citations })
    return Object.keys(members).length === 0 ? undefined : JSON.stringify(members)
  }
}
