import type { CallContext } from '../../core/caller.ts'
import type { ChatRequest } from '../../core/chat/chat.ts'
import { GatewayError } from '../../core/error.ts'
import type { Gateway } from '../../core/gateway.ts'
import type { ExtractedTexts } from '../../core/image/image.ts'
import { shortenedWarnings, type Warning } from '../../core/model.ts'
import { sumOfCosts } from '../../core/money/cost.ts'
import { addUsage, type Usage } from '../../core/money/price.ts'
import { orderedId } from '../../core/ordered-id.ts'
import type { Receipt } from '../../core/receipt.ts'
import { imageMaker, isAbandoned } from './image-maker.ts'
import { checkImageTool, type CheckedTool } from './image-tool.ts'
import type { HostedCall, Output, Turn } from './output.ts'
import { imageFunction, withoutImages, type ImageTool } from './tools.ts'

/** A model's answer that the output has read. */
export type Reply = { usage: Usage; receipt: Receipt }
/** A whole response; `imageUsage` is absent without the tool. */
export type Followed = Reply & { imageUsage?: Usage }
/** Asks the model; `read` reads its answer to the output. Both throw a GatewayError. */
type AskModel = (
  request: ChatRequest,
  context: CallContext,
) => Promise<{ read: () => Promise<Reply> }>

/**
 * Images of one response. More are a mistake of the model, which would otherwise be paid without end: an
 * image takes up to minutes, and the response has the time limit of one chat call.
 */
const imagesMax = 8

type Options = {
  gateway: Pick<Gateway, 'find' | 'image' | 'quoteImage' | 'deadline'>
  texts: ExtractedTexts
  /** The most images that the caller wants. */
  callsMax: number | null | undefined
  /** The caller's name for a parameter. */
  nameOf: (param: string) => string
  clock: () => number
}
type ImageTurn = { request: ChatRequest; context: CallContext }
type Answering = {
  answer: Output
  first: Reply
  ask: AskModel
  /** Sends the events so far. */
  flush: () => void
}

/** What follows the first answer of the model. `close` must be called when the response has ended. */
export type Following = { follow(answering: Answering): Promise<Followed>; close(): void }
type HostedImages = { warnings: readonly Warning[]; begin(turn: ImageTurn): Following }

/** Responses without the tool end with the first answer. */
const noImages: HostedImages = {
  warnings: [],
  begin: () => ({ follow: async ({ first }) => first, close: () => undefined }),
}

/**
 * Checks the tool of a request, whose large images may be placeholders of `texts`. Throws a GatewayError.
 * One deadline limits all calls of the response.
 */
export async function hostedImages(
  tool: ImageTool | undefined,
  turn: ImageTurn,
  options: Options,
): Promise<HostedImages> {
  if (tool === undefined) return noImages
  const { gateway } = options
  const checked = await checkImageTool({ tool, ...turn, gateway })
  return {
    warnings: checked.warnings,
    begin: ({ request, context }) => {
      const { clear: close } = gateway.deadline(context)
      const all = { ...options, tool: checked, request, context }
      return { follow: (answering) => followImages(all, answering), close }
    },
  }
}

/**
 * Makes the images that the model asks for, and continues the conversation until the model asks for no more,
 * or calls a tool of the caller. Throws a GatewayError, unless an image was made that can be returned.
 */
async function followImages(
  options: Options & ImageTurn & { tool: CheckedTool },
  { answer, first, ask, flush }: Answering,
): Promise<Followed> {
  const { tool, context, clock } = options
  const contextOf = (name: string) => nextContext(context, clock, name)
  const callsMax = Math.min(options.callsMax ?? imagesMax, imagesMax)
  const maker = imageMaker({ ...options, callsMax, contextOf, flush })
  const replies = [first]
  const warnings: Warning[] = []
  let { request } = options
  for (let isLast = false; ;) {
    const results = new Map<HostedCall, string>()
    const turn = await answer.endTurn(async (call, add) => {
      results.set(call, await maker.run(call, add))
    })
    if (turn === undefined || turn.callsOthers || results.size === 0 || isLast) break
    isLast = maker.left() === 0
    const left = withSearchesLeft(request, replies.at(-1)!.usage)
    request = continued(left, { turn, results, isLast })
    const continuing = request
    const asking = async () => ask(continuing, contextOf(`m${replies.length}`))
    const next = await asking().catch((error: unknown) => {
      // An image is paid, so it is returned even if the model cannot add a text.
      if (!(error instanceof GatewayError) || !maker.hasMade() || isAbandoned(context)) throw error
      const reason = `The model did not continue after the image: ${error.message}`
      const { param } = tool
      warnings.push({ param, requested: imageFunction, applied: imageFunction, reason })
      return undefined
    })
    if (next === undefined) break
    replies.push(await next.read())
  }
  return {
    usage: replies.map(({ usage }) => usage).reduce(addUsage),
    receipt: jointReceipt(replies, maker.receipts, warnings),
    imageUsage: maker.usage(),
  }
}

/** The context of another call for the same request. Throws a GatewayError if the request has ended. */
function nextContext(context: CallContext, clock: () => number, name: string): CallContext {
  const { ending, vendorKey } = context
  if (ending.signal.aborted || isAbandoned(context)) throw ended(ending)
  return {
    ...context,
    requestId: orderedId('req', clock()),
    warnings: undefined,
    begin: undefined,
    vendorKey: vendorKey && `${vendorKey}-${name}`,
  }
}

function ended({ signal, hasLeft }: CallContext['ending']): GatewayError {
  const text = hasLeft ? 'The client disconnected.' : 'The response was not complete in time.'
  return new GatewayError('timeout', text, { cause: signal.reason })
}

/** The request with the searches of the web that the answer has left. */
function withSearchesLeft(request: ChatRequest, { webSearches = 0 }: Usage): ChatRequest {
  const { web_search_options: search, ...rest } = request
  if (search?.max_searches === undefined || webSearches === 0) return request
  const max_searches = search.max_searches - webSearches
  return max_searches <= 0 ? rest : { ...rest, web_search_options: { ...search, max_searches } }
}

type Answered = { turn: Turn; results: ReadonlyMap<HostedCall, string>; isLast: boolean }

/** The request with the model's calls and their results; without the tool after the last image. */
function continued(request: ChatRequest, { turn, results, isLast }: Answered): ChatRequest {
  const { tool_choice: choice, tools = [], ...rest } = request
  const messages: ChatRequest['messages'] = [
    ...request.messages,
    turn.message,
    ...results.entries().map(([{ id }, content]) => {
      return { role: 'tool' as const, tool_call_id: id, content }
    }),
  ]
  const others = withoutImages(tools)
  // Vendors refuse a conversation with calls if the request has no tools.
  if (isLast && others.length === 0) return { ...rest, messages, tools, tool_choice: 'none' }
  const offered = { ...rest, messages, tools: isLast ? others : tools }
  if (typeof choice !== 'object' || choice.type !== 'allowed_tools') return offered
  const { allowed_tools: allowed } = choice
  const left = isLast ? withoutImages(allowed.tools) : allowed.tools
  if (left.length === 0) return { ...offered, tool_choice: 'none' }
  // A choice that forces a call would force calls without end.
  return {
    ...offered,
    tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: left } },
  }
}

/** The receipt of a response of several calls, of which the last model call names the model. */
function jointReceipt(
  replies: readonly Reply[],
  images: readonly Receipt[],
  warnings: readonly Warning[],
): Receipt {
  const [first, ...more] = [...replies.map(({ receipt }) => receipt), ...images]
  const all = [first!, ...more]
  const seen = new Map<string, Warning>()
  for (const warning of [...all.flatMap((one) => one.warnings), ...warnings]) {
    seen.set(`${warning.param} ${warning.reason}`, warning)
  }
  const costs = sumOfCosts([first!.cost, ...more.map(({ cost }) => cost)])
  const imagesNanoUsd = images.reduce((sum, { cost }) => sum + (cost.nanoUsd ?? 0), 0)
  const ofImages = images.length === 0 ? {} : { usd_image_generation: imagesNanoUsd / 1e9 }
  const caches = new Set(all.map(({ cache }) => cache))
  return {
    ...replies.at(-1)!.receipt,
    cost: { ...costs, details: { ...costs.details, ...ofImages } },
    cache: caches.size === 1 ? first!.cache : 'miss',
    attempts: all.flatMap(({ attempts }) => attempts),
    warnings: shortenedWarnings([...seen.values()]),
  }
}
