import { schemaChecks } from '../../generated/checks.js'
import type { components } from '../../generated/types.ts'
import type { CallContext } from '../core/caller.ts'
import type { ChatRequest, EventSink } from '../core/chat/chat.ts'
import { chatInputs, pictureInputs, readChat } from '../core/chat/read-chat.ts'
import type { StreamedChat } from '../core/chat/stream.ts'
import { withName } from '../core/error.ts'
import type { Gateway } from '../core/gateway.ts'
import type { Picture } from '../core/image/image.ts'
import { mediaType } from '../core/image/picture.ts'
import { noUsage, type Usage } from '../core/money/price.ts'
import type { Receipt } from '../core/receipt.ts'
import type { Answer } from '../http/answer.ts'
import { assertValid } from '../http/check-error.ts'
import { contextOf, type Operation, type OperationCall } from '../http/operation.ts'
import { costFields, receiptHeaders } from '../http/receipt-headers.ts'

type Schemas = components['schemas']
type Options = { gateway: Gateway; clock: () => number }

/** POST /v1/chat/completions, for language models and image models. */
export function createChatCompletion(options: Options): Operation<'createChatCompletion'> {
  const { gateway } = options
  return async (call) => {
    const { warnings, chat, pictures } = readCompletion(call, gateway)
    const context = contextOf(call, 'chat', warnings)
    if (chat === undefined) return pictureAnswer(pictures, call.body, context, options)
    const { request } = chat
    if (request.stream === true) {
      const streamed = await gateway.chatStream(chat, context)
      const headers = receiptHeaders(streamed.receipt)
      return { status: 200, headers, events: chatEvents(streamed, request) }
    }
    const { result, usage = noUsage, receipt } = await gateway.chat(chat, context)
    const json = withReceipt(result.text, usage, receipt)
    return { status: 200, headers: receiptHeaders(receipt), json }
  }
}

type Call = Pick<OperationCall<'createChatCompletion'>, 'body' | 'caller' | 'texts' | 'memory'>

/** Reads a request, for the call itself and its price: the inputs of the core. Throws a GatewayError. */
export function readCompletion(call: Call, gateway: Pick<Gateway, 'find' | 'checkPicture'>) {
  const read = readChat(call.body, call, gateway)
  const { warnings, draft, pictureVendor: vendor } = read
  if (vendor === undefined) return { warnings, chat: chatInputs(read) }
  const config: object = draft.image_config ?? {}
  assertValid(schemaChecks[vendor.imageConfig], config, { prefix: 'image_config' })
  return { warnings, pictures: pictureInputs(read, config) }
}

type Added = Pick<Schemas['ChatCompletion'], 'usage' | 'warnings'>

/** A completion's JSON with usage, cost and warnings added. */
function withReceipt(completion: string, usage: Usage, receipt: Receipt): string {
  const added: Added = { usage: chatUsage(usage, receipt) }
  if (receipt.warnings.length > 0) added.warnings = [...receipt.warnings]
  return `${completion.slice(0, -1)},${JSON.stringify(added).slice(1)}`
}

/** The event that ends every complete stream. */
const doneEvent = 'data: [DONE]\n\n'

/** Writes a stream's chunks to the sink, and returns the last events. */
function chatEvents(
  { pipe }: StreamedChat,
  { stream_options: options }: ChatRequest,
): NonNullable<Answer['events']> {
  const wantsUsage = options?.include_usage === true
  return async (sink, isLate) => {
    const ending = isLate && !wantsUsage ? holdEnd(sink) : undefined
    const outcome = await pipe(ending?.sink ?? sink)
    if (outcome.error !== undefined) throw outcome.error
    const { identity, usage, receipt } = outcome
    const late = isLate ? { late_headers: receiptHeaders(receipt) } : {}
    if (!wantsUsage) return Buffer.from((ending?.endWith(late) ?? '') + doneEvent)
    const chunk: Schemas['ChatCompletionChunk'] = {
      ...identity,
      object: 'chat.completion.chunk',
      choices: [],
      usage: chatUsage(usage, receipt),
      ...(receipt.warnings.length > 0 ? { warnings: [...receipt.warnings] } : {}),
      ...late,
    }
    return Buffer.from(`data: ${JSON.stringify(chunk)}\n\n${doneEvent}`)
  }
}

const nothing = Buffer.alloc(0)

/** A sink that holds back the last chunk, for more members: OpenAI has no chunk after the finish reason. */
function holdEnd(sink: EventSink) {
  let held: Buffer = nothing
  return {
    sink: {
      onDrain: sink.onDrain,
      write: (events: Buffer): boolean => {
        const before = held
        const isEnd = /"finish_reason": ?"/.test(events.toString('latin1'))
        held = isEnd ? events : nothing
        const written = isEnd ? before : Buffer.concat([before, events])
        return written.length === 0 || sink.write(written)
      },
    },
    endWith: (members: object): string => {
      const text = held.toString()
      const at = text.lastIndexOf('}')
      const more = JSON.stringify(members).slice(1)
      return at < 0 ? text : `${text.slice(0, at)},${more}${text.slice(at + 1)}`
    },
  }
}

/** The usage of an answer in OpenAI's form, with the cost fields. */
function chatUsage(usage: Usage, { cost }: Receipt): Schemas['ChatUsage'] {
  const { inputTokens, outputTokens, cachedInputTokens, reasoningTokens } = usage
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: {
      cached_tokens: cachedInputTokens ?? 0,
      ...(usage.cacheWriteTokens ? { cache_write_tokens: usage.cacheWriteTokens } : {}),
      ...(usage.imageInputTokens ? { image_tokens: usage.imageInputTokens } : {}),
      ...(usage.audioInputTokens ? { audio_tokens: usage.audioInputTokens } : {}),
    },
    completion_tokens_details: {
      reasoning_tokens: reasoningTokens ?? 0,
      ...(usage.imageOutputTokens ? { image_tokens: usage.imageOutputTokens } : {}),
      ...(usage.audioOutputTokens ? { audio_tokens: usage.audioOutputTokens } : {}),
    },
    ...costFields(cost),
  }
}

/** Answers with an image model: pictures in `message.images`. */
async function pictureAnswer(
  inputs: ReturnType<typeof pictureInputs>,
  { stream, stream_options: options }: ChatRequest,
  context: CallContext,
  { gateway, clock }: Options,
): Promise<Answer> {
  const answered = gateway.image(inputs, context).catch((error: unknown) => {
    // The error names parameters of the images API, which become those of the chat request.
    throw withName(error, inputs.nameOf)
  })
  const { result, usage = noUsage, receipt } = await answered
  const identity = {
    id: `chatcmpl-${context.requestId.slice(4)}`,
    created: Math.floor(clock() / 1000),
    model: receipt.model.row.id,
  }
  const headers = receiptHeaders(receipt)
  const images = result.pictures.flatMap(imageJson)
  const content = `"content":${JSON.stringify(result.text ?? null)}`
  const usageJson = JSON.stringify(chatUsage(usage, receipt))
  const warningsJson =
    receipt.warnings.length > 0 ? `,"warnings":${JSON.stringify(receipt.warnings)}` : ''
  if (stream !== true) {
    const head = JSON.stringify({ ...identity, object: 'chat.completion' }).slice(0, -1)
    return {
      status: 200,
      headers: { ...headers, 'content-type': 'application/json' },
      pieces: [
        `${head},"choices":[{"index":0,"message":{"role":"assistant",${content},"refusal":null,"images":[`,
        ...images,
        `]},"logprobs":null,"finish_reason":"stop"}],"usage":${usageJson}${warningsJson}}`,
      ],
    }
  }
  const chunk = JSON.stringify({ ...identity, object: 'chat.completion.chunk' }).slice(0, -1)
  const open = `data: ${chunk},"choices":[{"index":0,"delta":`
  const close = (finish: string) => `,"logprobs":null,"finish_reason":${finish}}]`
  const pieces = [
    `${open}{"role":"assistant","content":"","refusal":null}${close('null')}}\n\n`,
    `${open}{${content},"images":[`,
    ...images,
    `]}${close('null')}}\n\n`,
  ]
  const events: NonNullable<Answer['events']> = async (sink, isLate) => {
    for (const piece of pieces) sink.write(typeof piece === 'string' ? Buffer.from(piece) : piece)
    const late = isLate ? `,"late_headers":${JSON.stringify(headers)}` : ''
    const stop = `${open}{}${close('"stop"')}`
    const end =
      options?.include_usage === true
        ? `${stop}}\n\ndata: ${chunk},"choices":[],"usage":${usageJson}${warningsJson}${late}}\n\n`
        : `${stop}${late}}\n\n`
    return Buffer.from(end + doneEvent)
  }
  return { status: 200, headers, events }
}

/** One item of `images`; the media type is detected from the bytes. */
function imageJson({ base64, format }: Picture, index: number): (string | Buffer)[] {
  const comma = index === 0 ? '' : ','
  const start = `${comma}{"type":"image_url","image_url":{"url":"data:${mediaType(format)};base64,`
  return [start, ...base64, '"}}']
}
