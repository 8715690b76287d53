import type { NativeAnswer, NativeRequest } from '../../../core/chat/chat.ts'
import { compactionIn } from '../../../core/chat/sealed-thoughts.ts'
import type { Target } from '../../../core/model.ts'
import { eventFailure } from '../../openai-compatible/failure.ts'
import { itemsOf, membersOf, textIn, type Members } from '../../../core/any-json.ts'
import type { NativeReader } from '../../wire/native-stream.ts'
import { openAiTier } from '../../wire/token-count.ts'
import { brokenOff, parseEvent } from '../../wire/translated-stream.ts'
import { failureIn, finishReasonOf, identityOf, readUsage, type Reading } from './answer.ts'
import type { WireRequest } from './request.ts'
import { searchCounter } from './search.ts'
import { encryptedIn, extraOf, thoughtsOfCall } from './thoughts.ts'

type Seal = NativeRequest['seal']
/** The account, and the maker of an answer. */
type Sealing = Pick<Reading, 'provider' | 'upstreamModel'> & { seal: Seal }

/** Items that wait for an output of the client. */
const clientCall =
  /^(?:function|custom_tool|tool_search|apply_patch|(?:local_)?shell|computer)_call$/
const encrypted = 'reasoning.encrypted_content'

/** The body of a request of this API. The vendor keeps nothing, and returns its reasoning encrypted. */
export function writeNative({ body, seal }: NativeRequest, target: Target): WireRequest {
  const { upstreamModel: model } = target
  const include = new Set([...itemsOf(body['include']), encrypted])
  const input = itemsOf(body['input']).flatMap((item) =>
    opened(membersOf(item), { ...target, seal }),
  )
  // The contract has checked the request, whose members are those of the vendor.
  return { ...body, model, input, store: false, include: [...include] } as unknown as WireRequest
}

/** An item of the conversation. Reasoning is left out unless the model made it for the account. */
function opened(item: Members, { seal, provider, upstreamModel }: Sealing): Members[] {
  const { type, encrypted_content: content } = item
  if (type !== 'reasoning' && type !== 'compaction') return [item]
  const extra = seal.open(textIn(content) ?? '')
  if (type === 'compaction') {
    const { providerId, id, content: own } = compactionIn(extra) ?? {}
    if (providerId === null) return [{ type: 'message', role: 'user', content: own }]
    // The last one is readable, as the request was checked; earlier ones may be missing.
    return providerId === provider.id ? [{ type, id, encrypted_content: own }] : []
  }
  if (extra === undefined) return []
  const { thoughts } = thoughtsOfCall({ extra_content: extra }, upstreamModel)
  return thoughts.map((thought) => ({ ...item, ...thought }))
}

/** An output item as the caller gets it: the account can send its encrypted content back. */
function sealed(item: unknown, { seal, provider, upstreamModel }: Sealing): unknown {
  const members = membersOf(item)
  const { type } = members
  const found = type === 'reasoning' || type === 'compaction' ? encryptedIn(members) : undefined
  if (found === undefined) return item
  const { id, encrypted_content: content } = found
  const extra =
    type === 'compaction'
      ? { compaction: { providerId: provider.id, id, content } }
      : extraOf([found], upstreamModel)
  return { ...members, encrypted_content: seal.close(extra) }
}

/** A response of the vendor as the caller gets it. */
export function nativeAnswer(response: Members, sealing: Sealing): NativeAnswer {
  return {
    service_tier: openAiTier(response['service_tier']),
    output: itemsOf(response['output']).map((item) => sealed(item, sealing)),
  }
}

/**
 * Texts in events about the response, about a whole item, and in errors. The text of an answer cannot match, since
 * its quotation marks are escaped.
 */
const marks = ['"response":', '"item":', '"error"'].map((text) => Buffer.from(text))

/** Reads the events of a response for a caller of this API (docs/behaviour.md#native-requests). */
export function nativeReader(options: Omit<Reading, 'request'> & Sealing): NativeReader {
  const { errors } = options
  let identity = identityOf({}, options)
  let response: Members = {}
  let isOver = false
  const searches = searchCounter()
  const counted = () => searches.addTo(readUsage(response, options))
  return {
    marks,
    read: (data) => {
      const event = membersOf(parseEvent(data))
      switch (event['type']) {
        case 'response.created':
          identity = identityOf(membersOf(event['response']), options)
          return undefined
        case 'response.output_item.added':
        case 'response.output_item.done': {
          searches.read(event)
          const item = sealed(event['item'], options)
          return item === event['item'] ? data : JSON.stringify({ ...event, item })
        }
        case 'response.completed':
        case 'response.incomplete':
          response = membersOf(event['response'])
          isOver = true
          return undefined
        case 'response.failed':
          response = membersOf(event['response'])
          throw failureIn({ status: 'failed', ...response }, errors)
        case 'error':
          throw eventFailure({ error: event }, errors)
        case 'response.in_progress':
        case 'response.queued':
          return undefined
        default:
          return data
      }
    },
    finish: () => {
      if (!isOver) throw brokenOff()
      const hasCalls = itemsOf(response['output']).some((item) =>
        clientCall.test(String(membersOf(item)['type'])),
      )
      const finishReason = finishReasonOf(response, hasCalls)
      const answer = nativeAnswer(response, options)
      return { usage: counted(), identity, native: { answer, finishReason } }
    },
    usageSoFar: counted,
    isOver: () => isOver,
  }
}
