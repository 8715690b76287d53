import type { Answered } from '../../core/call.ts'
import type { CallContext } from '../../core/caller.ts'
import type { ChatResult, EventSink } from '../../core/chat/chat.ts'
import { chunkOf, translatingSink } from '../../core/chat/chunks.ts'
import { restoreBase64 } from '../../core/chat/read-chat.ts'
import type { StreamedChat } from '../../core/chat/stream.ts'
import { withName } from '../../core/error.ts'
import type { Gateway } from '../../core/gateway.ts'
import { withNames, type FoundModels } from '../../core/model.ts'
import { noUsage } from '../../core/money/price.ts'
import type { Receipt } from '../../core/receipt.ts'
import type { BackgroundCalls } from '../../core/resilience/background-calls.ts'
import type { Answer } from '../../http/answer.ts'
import { contextOf, type Operation, type OperationCall } from '../../http/operation.ts'
import { receiptHeaders } from '../../http/receipt-headers.ts'
import type { ResponseStream } from '../../http/response-stream.ts'
import { responseInBackground, type OnStart } from './background.ts'
import type { History } from './history.ts'
import { hostedImages, type Followed, type Following } from './hosted-images.ts'
import type { Emit } from './item.ts'
import { collectOutput, nativeOutput, type Ended, type Output } from './output.ts'
import { readCall, type ReadOptions } from './read-call.ts'
import { beginResponse, endResponse, failureForm, type ModelResponse } from './response.ts'

type Options = ReadOptions & { backgroundCalls: BackgroundCalls }
type Call = OperationCall<'createResponse'>

/** POST /v1/responses (docs/behaviour.md#responses). */
export function createResponse(options: Options): Operation<'createResponse'> {
  const { backgroundCalls } = options
  const respond = (call: Call, onBegun?: OnStart) => answer(call, options, onBegun)
  return (call) =>
    call.body.background === true
      ? responseInBackground(call, { backgroundCalls, respond })
      : respond(call)
}

/** Answers a request; `onBegun` is called for a response in the background. */
export async function answer(call: Call, options: Options, onBegun?: OnStart): Promise<Answer> {
  const { gateway, sealOf, clock } = options
  const { body, caller, texts, requestId } = call
  const seal = sealOf(caller.accountId)
  const read = await readCall(call, options)
  const { history, draft, tools, nameOf, models } = read
  const suffix = requestId.slice(requestId.indexOf('_') + 1)
  const createdAt = Math.floor(clock() / 1000)
  const begin = (model: string) =>
    beginResponse(restoreBase64({ ...body, input: [] }, texts, call.memory), {
      id: `resp_${suffix}`,
      createdAt,
      model,
      isStored: history.stores,
    })
  const replying: Omit<Replying, 'following'> = {
    nameOf,
    models,
    gateway,
    store: history.store,
    clock,
    begin: (receipt) => begin(receipt.model.row.id),
    output: (emit) =>
      collectOutput({
        suffix,
        tools,
        compacts: read.compacts,
        showsSources: body.include?.includes('web_search_call.action.sources') === true,
        seal: seal.close,
        emit,
        memory: call.memory,
      }),
  }
  let following: Following | undefined
  const events = responseEvents(call.stream, () => begin(models[0].model?.row.id ?? body.model))
  try {
    const images = await hostedImages(
      tools.images(),
      { request: draft, context: contextOf(call, 'responses') },
      { gateway, texts, callsMax: body.max_tool_calls, nameOf, clock },
    )
    const adjusted = [...(read.warnings ?? []), ...images.warnings]
    const context: CallContext = {
      ...contextOf(call, 'responses', adjusted.length > 0 ? adjusted : undefined),
      begin: onBegun && (({ modelId, endsAt }) => onBegun(begin(modelId), history, endsAt)),
    }
    following = images.begin({ request: read.request, context })
    const answering = { ...replying, following }
    if (read.request.stream !== true)
      return await whole(await gateway.chat(read, context), answering)
    return streamed(await gateway.chatStream(read, context), events, answering)
  } catch (thrown) {
    following?.close()
    throw withName(thrown, nameOf)
  }
}

type Replying = Pick<History, 'store'> & {
  nameOf: (param: string) => string
  models: FoundModels
  gateway: Pick<Gateway, 'chat' | 'chatStream'>
  /** What follows the first answer of the model. */
  following: Following
  begin: (receipt: Receipt) => ModelResponse
  output: (emit: Emit) => Output
  clock: () => number
}

async function whole(
  first: Answered<ChatResult>,
  { nameOf, models, gateway, following, store, begin, output, clock }: Replying,
): Promise<Answer> {
  const answer = output(() => {})
  const read = ({ result, usage = noUsage, receipt }: Answered<ChatResult>) => {
    const { completion, native } = result
    if (native === undefined) answer.read(chunkOf(completion))
    else answer.adopt(nativeOutput(native, completion.model, completion.choices[0]!.finish_reason))
    return { usage, receipt }
  }
  const { receipt: own, ...used } = await following.follow({
    answer,
    first: read(first),
    ask: async (request, context) => {
      const made = await gateway.chat({ request, models }, context)
      return { read: async () => read(made) }
    },
    flush: () => {},
  })
  following.close()
  const receipt = renamed(own, nameOf)
  const completedAt = Math.floor(clock() / 1000)
  const end = { ended: answer.end(), completedAt, receipt, ...used }
  const json = await store(endResponse(begin(receipt), end))
  return { status: 200, headers: receiptHeaders(receipt), json }
}

function renamed(receipt: Receipt, nameOf: Replying['nameOf']): Receipt {
  const { warnings } = receipt
  return warnings.length === 0 ? receipt : { ...receipt, warnings: withNames(warnings, nameOf) }
}

/** Numbers the events of a response; `expected` is the response that its stream begins with if the model is silent. */
function responseEvents(stream: ResponseStream | undefined, expected: () => ModelResponse) {
  let begun: ModelResponse | undefined
  let written = ''
  let number = 0
  const write: Emit = (type, members) => {
    // An object for all members would be copied for each event.
    const rest = JSON.stringify(members).slice(1)
    const comma = rest === '}' ? '' : ','
    const head = `{"type":"${type}","sequence_number":${number++}`
    written += `event: ${type}\ndata: ${head}${comma}${rest}\n\n`
  }
  /** Writes the first events, unless they have been written. */
  const begin = (response: ModelResponse): void => {
    const isFirst = begun === undefined
    begun = response
    if (!isFirst) return
    write('response.created', { response })
    write('response.in_progress', { response })
  }
  const take = (): string => {
    const text = written
    written = ''
    return text
  }
  if (stream !== undefined)
    stream.form = {
      // OpenAI's clients expect `response.created` first. They know `keepalive`; Codex counts no comments.
      ping: () => {
        if (begun === undefined) begin(expected())
        else write('keepalive', {})
        return Buffer.from(take())
      },
      failed: (error, late) => {
        const response = begun ?? expected()
        const failure = failureForm(error)
        const { type, param } = error
        // Some clients read only the first event, and Codex only the second. OpenAI's client throws for `error.error`.
        write('error', { ...failure, param: null, error: { type, ...failure, param }, ...late })
        write('response.failed', { response: { ...response, status: 'failed', error: failure } })
        return Buffer.from(take())
      },
    }
  return { begin, write, take, next: () => number++ }
}

/** Translates a stream to the events of a response. */
function streamed(
  first: StreamedChat,
  events: ReturnType<typeof responseEvents>,
  { nameOf, models, gateway, following, store, begin, output, clock }: Replying,
): Answer {
  const { receipt } = first
  const { write, take } = events
  return {
    status: 200,
    headers: receiptHeaders(receipt),
    events: async (sink, isLate) => {
      const response = begin(receipt)
      events.begin(response)
      sink.write(Buffer.from(take()))
      const answer = output(write)
      const flush = () => sink.write(Buffer.from(take()))
      const reading =
        first.native === undefined
          ? translatingSink(sink, (chunk) => {
              answer.read(chunk)
              return take()
            })
          : numberingSink(sink, events.next)
      const streaming = { answer, models, gateway, following, flush }
      const { receipt: own, ...used } = await streamedAnswer(first, reading, streaming).catch(
        (thrown: unknown) => {
          throw withName(thrown, nameOf)
        },
      )
      const completedAt = Math.floor(clock() / 1000)
      const end = { completedAt, receipt: renamed(own, nameOf), ...used }
      // Clients continue a conversation as soon as they have the last event.
      const whole = await store(endResponse(response, end))
      write(whole.status === 'completed' ? 'response.completed' : 'response.incomplete', {
        response: whole,
        ...(isLate && { late_headers: receiptHeaders(own) }),
      })
      return Buffer.from(take())
    },
  }
}

const numbers = /"sequence_number":\d+/g

/** Forwards events with the gateway's numbers. The text of an answer cannot match, since its quotes are escaped. */
function numberingSink({ onDrain, write }: EventSink, next: () => number): EventSink {
  return {
    onDrain,
    write: (events) =>
      write(Buffer.from(events.toString().replace(numbers, () => `"sequence_number":${next()}`))),
  }
}

type Streaming = Pick<Replying, 'gateway' | 'following' | 'models'> & {
  answer: Output
  flush: () => void
}

/** Reads all answers of the model to the output, and ends it. Throws a GatewayError. */
async function streamedAnswer(
  first: StreamedChat,
  sink: EventSink,
  { answer, models, gateway, following, flush }: Streaming,
): Promise<Followed & { ended: Ended }> {
  const read = async ({ pipe }: StreamedChat) => {
    const outcome = await pipe(sink)
    if (outcome.error !== undefined) throw outcome.error
    const { usage, receipt, native, identity } = outcome
    if (native !== undefined)
      answer.adopt(nativeOutput(native.answer, identity.model, native.finishReason))
    return { usage, receipt }
  }
  try {
    const followed = await following.follow({
      answer,
      first: await read(first),
      ask: async (request, context) => {
        const begun = await gateway.chatStream({ request, models }, context)
        return { read: () => read(begun) }
      },
      flush,
    })
    return { ...followed, ended: answer.end() }
  } finally {
    following.close()
  }
}
