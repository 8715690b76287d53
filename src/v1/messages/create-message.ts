import type { components } from '../../../generated/types.ts'
import type { ChatRequest, ChatResult } from '../../core/chat/chat.ts'
import { chunkOf, translatingSink } from '../../core/chat/chunks.ts'
import { estimateInput } from '../../core/chat/estimate.ts'
import { languageModels, readTranslated, type ReadTranslated } from '../../core/chat/read-chat.ts'
import type { ThoughtSeal } from '../../core/chat/sealed-thoughts.ts'
import type { StreamedChat, StreamOutcome } from '../../core/chat/stream.ts'
import { GatewayError } from '../../core/error.ts'
import type { Gateway } from '../../core/gateway.ts'
import { withNames, type Model } from '../../core/model.ts'
import { noUsage, type Usage } from '../../core/money/price.ts'
import type { Receipt } from '../../core/receipt.ts'
import type { Answer } from '../../http/answer.ts'
import { contextOf, type Operation, type OperationCall } from '../../http/operation.ts'
import { costFields, countHeaders, receiptHeaders } from '../../http/receipt-headers.ts'
import {
  blocksOf,
  messageWriter,
  nativeEnd,
  type MessageEvent,
  type MessageStop,
  type MessageWriter,
} from './events.ts'
import { nativeBody, readRequest } from './request.ts'

type Schemas = components['schemas']
type MessageOptions = { gateway: Gateway; sealOf: (accountId: string) => ThoughtSeal }

/** POST /v1/messages */
export function createMessage(options: MessageOptions): Operation<'createMessage'> {
  const { gateway } = options
  return async (call) => {
    const read = readCall(call, options)
    const { request, warnings, nameOf, explain } = read
    const context = contextOf(call, 'messages', warnings)
    const { requestId } = call
    const writer = messageWriter({
      showsThinking: showsThinking(call.body.thinking),
      seal: options.sealOf(call.caller.accountId),
      memory: call.memory,
      callId: (index) => `toolu_${requestId.slice(4)}_${index}`,
    })
    const replying = { requestId, writer, nameOf, explain }
    if (call.stream !== undefined) call.stream.form = { headers: idHeader(requestId), ping }
    try {
      if (request.stream === true) {
        return streamed(await gateway.chatStream(read, context), request, replying)
      }
      const { result, usage = noUsage, receipt } = await gateway.chat(read, context)
      const json: Schemas['Message'] = {
        ...identityOf(requestId, receipt),
        ...answered(result, writer),
        usage: messageUsage(usage, receipt),
        ...warningsOf(receipt, nameOf),
      }
      return { status: 200, headers: headersOf(requestId, receipt), json }
    } catch (thrown) {
      throw thrown instanceof GatewayError ? explain(thrown) : thrown
    }
  }
}

type MessageBody = Pick<Schemas['Message'], 'content' | 'context_management'> & MessageStop

/** The content of an answer and why it ended: verbatim or translated. */
function answered({ native, completion }: ChatResult, writer: MessageWriter): MessageBody {
  if (native !== undefined) {
    // The vendor has the API of the caller.
    return { content: native['content'] as MessageBody['content'], ...nativeEnd(native) }
  }
  const begun = writer.read(chunkOf(completion))
  const { events, stop } = writer.finish()
  return { content: blocksOf([...begun, ...events]), ...stop }
}

/** Feature flags that change the price of a call are not sent to Anthropic. */
const unpricedBeta = /^(?:context-1m|fast-mode)/
const betasLengthMax = 2000

function betasOf(header: string | string[] | undefined): Record<string, string> {
  const betas = String(header ?? '')
    .slice(0, betasLengthMax)
    .split(',')
  const known = betas.map((one) => one.trim()).filter((one) => /^[\w.-]+$/.test(one))
  const kept = known.filter((one) => !unpricedBeta.test(one))
  return kept.length === 0 ? {} : { 'anthropic-beta': kept.join(',') }
}

type Call = Pick<OperationCall<'createMessage'>, 'body' | 'caller' | 'memory' | 'texts' | 'request'>
type ReadCall = ReadTranslated & {
  /** An error with the names and words of Anthropic's API. */
  explain: (error: GatewayError) => GatewayError
}

/** Reads a request, for the call itself, its price and its tokens. Throws a GatewayError. */
export function readCall(call: Call, { gateway, sealOf }: MessageOptions): ReadCall {
  const { body, caller, request } = call
  const models = languageModels({ model: body.model }, { ...gateway, caller }, forPictures)
  const [{ model }] = models
  const seal = sealOf(caller.accountId)
  const headers = betasOf(request.headers['anthropic-beta'])
  const native = { api: 'messages', headers, seal, bodyOf: () => nativeBody(body) } as const
  const translated = readRequest(body, model, seal)
  const read = readTranslated(translated, { ...call, models }, native, gateway)
  const { nameOf } = read
  return { ...read, explain: (error) => asTooLong(error.named(nameOf), read.request, model) }
}

const forPictures = (id: string) =>
  `${id} makes pictures, for which Anthropic's API has no form. Use POST /v1/images/generations or POST /v1/chat/completions.`

/** POST /v1/messages/count_tokens */
export function countMessageTokens(options: MessageOptions): Operation<'countMessageTokens'> {
  return async (call) => {
    // A count needs no maximum, but a message does.
    const body = { ...call.body, max_tokens: 1 }
    const read = readCall({ ...call, body }, options)
    try {
      const count = await options.gateway.countInput(read, call)
      const json: Schemas['MessageTokensCount'] = { input_tokens: count.tokens }
      const headers = { 'request-id': call.requestId, ...countHeaders(count) }
      return { status: 200, headers, json }
    } catch (thrown) {
      throw thrown instanceof GatewayError ? read.explain(thrown) : thrown
    }
  }
}

/** Clients that did not ask for thinking may expect the text in the first block. */
function showsThinking(thinking: Schemas['CreateMessageRequest']['thinking']): boolean {
  return thinking !== undefined && thinking.type !== 'disabled' && thinking.display !== 'omitted'
}

type Replying = Pick<ReadCall, 'nameOf' | 'explain'> & {
  requestId: string
  writer: MessageWriter
}

function streamed(
  { pipe, receipt: begun, native }: StreamedChat,
  request: ChatRequest,
  { requestId, writer, nameOf, explain }: Replying,
): Answer {
  const estimated = { ...noUsage, inputTokens: estimateInput(request), outputTokens: 1 }
  return {
    status: 200,
    headers: headersOf(requestId, begun),
    events: async (sink, isLate) => {
      // The last event but one has the usage that the vendor counted.
      const message: Schemas['Message'] = {
        ...identityOf(requestId, begun),
        content: [],
        stop_reason: null,
        stop_sequence: null,
        stop_details: null,
        usage: tokenCounts(native?.usage ?? estimated),
      }
      sink.write(Buffer.from(eventText({ type: 'message_start', message })))
      const outcome = await pipe(
        native === undefined ? translatingSink(sink, (chunk) => textOf(writer.read(chunk))) : sink,
      )
      if (outcome.error !== undefined) throw explain(outcome.error)
      const { usage, receipt } = outcome
      const { events, ...end } = streamEnd(outcome, writer)
      const last: MessageEvent = {
        type: 'message_delta',
        ...end,
        usage: messageUsage(usage, receipt),
        ...warningsOf(receipt, nameOf),
        ...(isLate && { late_headers: receiptHeaders(receipt) }),
      }
      return Buffer.from(textOf([...events, last, { type: 'message_stop' }]))
    },
  }
}

const ping = () => Buffer.from(eventText({ type: 'ping' }))

/** The last blocks of a stream, and why it ended. */
function streamEnd({ native }: StreamOutcome & { error?: never }, writer: MessageWriter) {
  if (native === undefined) {
    const { events, stop } = writer.finish()
    return { events, delta: stop }
  }
  const { context_management, ...delta } = nativeEnd(native.answer)
  return { events: [], delta, ...(context_management && { context_management }) }
}

function identityOf(requestId: string, { model }: Receipt) {
  const id = `msg_${requestId.slice(4)}`
  return { id, type: 'message', role: 'assistant', model: model.row.id } as const
}

const idHeader = (requestId: string) => ({ 'request-id': requestId })

function headersOf(requestId: string, receipt: Receipt): Record<string, string> {
  return { ...idHeader(requestId), ...receiptHeaders(receipt) }
}

function warningsOf(
  { warnings }: Receipt,
  nameOf: Replying['nameOf'],
): Pick<Schemas['Message'], 'warnings'> {
  return warnings.length === 0 ? {} : { warnings: withNames(warnings, nameOf) }
}

function textOf(events: readonly MessageEvent[]): string {
  return events.map(eventText).join('')
}

function eventText(event: MessageEvent): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
}

/** The usage of a message in Anthropic's form, with the cost fields of the chat API. */
function messageUsage(usage: Usage, { cost }: Receipt): Schemas['MessageUsage'] {
  return { ...tokenCounts(usage), ...costFields(cost) }
}

/** The counts in Anthropic's form. */
function tokenCounts(usage: Usage): Schemas['MessageUsage'] {
  const { inputTokens, outputTokens, cachedInputTokens: cached = 0 } = usage
  const { cacheWriteTokens: written = 0, reasoningTokens = 0, webSearches = 0 } = usage
  return {
    // Anthropic's count excludes what was read from the cache or written to it.
    input_tokens: Math.max(0, inputTokens - cached - written),
    cache_creation_input_tokens: written,
    cache_read_input_tokens: cached,
    output_tokens: outputTokens,
    output_tokens_details: { thinking_tokens: reasoningTokens },
    ...(webSearches === 0 ? {} : { server_tool_use: { web_search_requests: webSearches } }),
  }
}

/** Smaller numbers in a vendor's message are not counts of a whole prompt, but for example error codes. */
const tokensMin = 4000
/** A count, which is not a part of a name such as `claude-opus-4-20250514`. */
const count = /(?<![\w.-])\d[\d,]*\d(?![\w-])/g
/** Numbers that may be the limit: after a word for it, except the excess (`by 4096`), or before one. */
const limits = [
  /(?:max\w*|limit|context (?:size|length|window)|length should be \[1,)\D{0,80}?(?<!\bby )(\d[\d,]*\d)/gi,
  /(\d[\d,]*\d) (?:maximum|allowed)/gi,
]
/** Words of Anthropic for a prompt that fits without its answer; clients read them to ask for a shorter answer. */
const tooLongWithAnswer = /input length and `max_tokens` exceed context limit: \d+ \+ \d+ > \d+/

/**
 * An error of a prompt that is too long in Anthropic's words, which clients parse to compact their
 * conversation (docs/messages.md#errors). Other errors are returned unchanged.
 */
function asTooLong(
  error: GatewayError,
  request: ChatRequest,
  model: Model | undefined,
): GatewayError {
  const { message, param, cause, progress } = error
  if (error.code !== 'context_length_exceeded' || tooLongWithAnswer.test(message)) return error
  const named = limits.flatMap((limit) => Array.from(message.matchAll(limit), ([, one]) => one!))
  // A prompt that is too long has more tokens than its limit.
  const limit = Math.min(...countsIn(named))
  const most = limit === Infinity ? model?.row.context_window : limit
  const counts = countsIn(message.match(count) ?? [])
  const tokens = Math.max(...counts.filter((one) => one > (most ?? 0)), 0)
  const text =
    most === undefined
      ? `prompt is too long. ${message}`
      : `prompt is too long: ${tokens || Math.max(estimateInput(request), most + 1)} tokens > ${most} maximum`
  const about = { cause, progress, param: param ?? undefined }
  return new GatewayError('context_length_exceeded', text, about)
}

function countsIn(numbers: readonly string[]): number[] {
  return numbers.map((text) => Number(text.replaceAll(',', ''))).filter((one) => one >= tokensMin)
}
