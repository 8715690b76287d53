import type { Answered } from '../../core/call.ts'
import type { ChatRequest, ChatResult } from '../../core/chat/chat.ts'
import { checkedPictures } from '../../core/chat/check.ts'
import { chunkOf, translatingSink } from '../../core/chat/chunks.ts'
import { withoutEmpty } from '../../core/chat/default-values.ts'
import type { ThoughtSeal } from '../../core/chat/sealed-thoughts.ts'
import type { StreamedChat } from '../../core/chat/stream.ts'
import { GatewayError } from '../../core/error.ts'
import type { Gateway } from '../../core/gateway.ts'
import type { CheckPicture } from '../../core/image/image.ts'
import { makesImages, type Warning } from '../../core/model.ts'
import { noUsage } from '../../core/money/price.ts'
import type { Receipt } from '../../core/receipt.ts'
import type { RouteTable } from '../../core/route.ts'
import type { StoredResponses } from '../../core/stored-responses.ts'
import type { Answer } from '../../http/answer.ts'
import { contextOf, type Operation } from '../../http/operation.ts'
import { restoreBase64 } from '../../http/read-body.ts'
import { receiptHeaders } from '../../http/receipt-headers.ts'
import { checkFallbacks } from '../check-fallbacks.ts'
import { readHistory, type History } from './history.ts'
import { collectOutput, type Emit, type Output } from './output.ts'
import { readRequest, type ReadRequest } from './request.ts'
import { beginResponse, endResponse, failureForm, type ModelResponse } from './response.ts'

type Options = {
  gateway: Gateway
  routes: Pick<RouteTable, 'peek'>
  /** Whether the vendor with this id takes custom tools. */
  takesCustomTools: (providerId: string) => boolean
  checkPicture: CheckPicture
  sealOf: (accountId: string) => ThoughtSeal
  storedResponses: StoredResponses
  clock: () => number
}

/** POST /v1/responses (docs/behaviour.md#responses). */
export function createResponse(options: Options): Operation<'createResponse'> {
  const { gateway, sealOf, clock } = options
  return async (call) => {
    const { body, caller, texts, requestId } = call
    const seal = sealOf(caller.accountId)
    const { history, asked, request, warnings } = await readCall(call, options)
    const suffix = requestId.slice(requestId.indexOf('_') + 1)
    const replying: Replying = {
      asked,
      keep: history.keep,
      clock,
      begin: (receipt) =>
        beginResponse(restoreBase64({ ...body, input: [] }, texts, call.hold), {
          id: `resp_${suffix}`,
          createdAt: Math.floor(clock() / 1000),
          model: receipt.model.row.id,
          isStored: history.stores,
        }),
      output: (emit) =>
        collectOutput({ suffix, tools: asked.tools, seal: seal.close, emit, hold: call.hold }),
    }
    try {
      const context = contextOf(call, 'responses', warnings)
      if (request.stream !== true)
        return await whole(await gateway.chat(request, context), replying)
      return streamed(await gateway.chatStream(request, context), replying)
    } catch (thrown) {
      throw thrown instanceof GatewayError ? thrown.named(asked.nameOf) : thrown
    }
  }
}

type AskedCall = Parameters<typeof readHistory>[0]
type ReadCall = {
  history: History
  asked: ReadRequest
  /** The canonical request as it goes to the core. */
  request: ChatRequest
  /** The adjustments so far; undefined if there are none. */
  warnings: Warning[] | undefined
}

/**
 * Reads a request, for the call itself, its price and its tokens. Throws a GatewayError that names a
 * parameter of the request.
 */
export async function readCall(
  call: AskedCall,
  options: Omit<Options, 'gateway'>,
): Promise<ReadCall> {
  const { body, caller, texts, hold } = call
  const { routes } = options
  const model = routes.peek(body.model, caller)
  if (model !== undefined && makesImages(model)) throw forPictures(model.row.id)
  checkFallbacks(body.models ?? [], false, (name) => routes.peek(name, caller))
  const history = await readHistory(call, options.storedResponses, options.clock)
  const asked = readWhole(history, {
    takesCustom: model !== undefined && options.takesCustomTools(model.row.provider),
    open: options.sealOf(caller.accountId).open,
  })
  try {
    const given = withoutEmpty(asked.request)
    const corrected = checkedPictures(given, texts, options.checkPicture)
    const request = restoreBase64(corrected?.request ?? given, texts, hold)
    const adjusted = [...asked.warnings, ...(corrected?.warnings ?? [])]
    return { history, asked, request, warnings: adjusted.length > 0 ? adjusted : undefined }
  } catch (thrown) {
    throw thrown instanceof GatewayError ? thrown.named(asked.nameOf) : thrown
  }
}

/** Reads a request with its history; errors and warnings name the parameters of the request itself. */
function readWhole(
  { body, nameOf }: History,
  options: Parameters<typeof readRequest>[1],
): ReadRequest {
  try {
    const asked = readRequest(body, options)
    return { ...asked, nameOf: (param) => nameOf(asked.nameOf(param)) }
  } catch (thrown) {
    throw thrown instanceof GatewayError ? thrown.named(nameOf) : thrown
  }
}

type Replying = Pick<History, 'keep'> & {
  asked: ReadRequest
  begin: (receipt: Receipt) => ModelResponse
  output: (emit: Emit) => Output
  clock: () => number
}

async function whole(
  { result, usage = noUsage, receipt: own }: Answered<ChatResult>,
  { asked, keep, begin, output, clock }: Replying,
): Promise<Answer> {
  const receipt = renamed(own, asked)
  const answer = output(() => {})
  answer.read(chunkOf(result.completion))
  const completedAt = Math.floor(clock() / 1000)
  const end = { ended: answer.end(), completedAt, usage, receipt }
  const json = await keep(endResponse(begin(receipt), end))
  return { status: 200, headers: receiptHeaders(receipt), json }
}

function forPictures(id: string): GatewayError {
  const message = `${id} makes images. Send the request to /v1/images/generations or /v1/chat/completions.`
  return new GatewayError('model_capability_mismatch', message, { param: 'model' })
}

function renamed(receipt: Receipt, { nameOf }: ReadRequest): Receipt {
  if (receipt.warnings.length === 0) return receipt
  const warnings = receipt.warnings.map((one) => ({ ...one, param: nameOf(one.param) }))
  return { ...receipt, warnings }
}

/** Translates a stream to the events of a response. */
function streamed(
  { receipt, pipe }: StreamedChat,
  { asked, keep, begin, output, clock }: Replying,
): Answer {
  let isBroken = false
  let written = ''
  let number = 0
  const write: Emit = (type, members) => {
    // An object for all members would be copied for each event.
    const rest = JSON.stringify(members).slice(1)
    const comma = rest === '}' ? '' : ','
    const head = `{"type":"${type}","sequence_number":${number++}`
    written += `event: ${type}\ndata: ${head}${comma}${rest}\n\n`
  }
  const taken = (): string => {
    const text = written
    written = ''
    return text
  }
  return {
    status: 200,
    headers: receiptHeaders(receipt),
    brokenOff: () => isBroken,
    // OpenAI's clients know the event, and Codex counts no comments.
    ping: () => {
      write('keepalive', {})
      return Buffer.from(taken())
    },
    events: async (sink) => {
      const response = begin(receipt)
      write('response.created', { response })
      write('response.in_progress', { response })
      sink.write(Buffer.from(taken()))
      const answer = output(write)
      const outcome = await pipe(
        translatingSink(sink, (chunk) => {
          answer.read(chunk)
          return taken()
        }),
      )
      const completedAt = Math.floor(clock() / 1000)
      if (outcome.error === undefined) {
        const { usage } = outcome
        const end = {
          ended: answer.end(),
          completedAt,
          usage,
          receipt: renamed(outcome.receipt, asked),
        }
        // Clients continue a conversation as soon as they have the last event.
        const whole = await keep(endResponse(response, end))
        write(whole.status === 'completed' ? 'response.completed' : 'response.incomplete', {
          response: whole,
        })
      } else {
        isBroken = true
        const error = failureForm(outcome.error.named(asked.nameOf))
        // Some clients read only the first event, and Codex only the second.
        write('error', { ...error, param: null })
        write('response.failed', { response: { ...response, status: 'failed', error } })
      }
      return Buffer.from(taken())
    },
  }
}
