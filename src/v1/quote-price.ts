import { bodyChecks } from '../../generated/checks.js'
import type { components } from '../../generated/types.ts'
import type { ChatRequest } from '../core/chat/chat.ts'
import { checkConversation, checkedPictures } from '../core/chat/check.ts'
import { withoutEmpty } from '../core/chat/default-values.ts'
import { GatewayError } from '../core/error.ts'
import type { Gateway } from '../core/gateway.ts'
import type { ImageConfigSchema } from '../core/image/chat-to-image.ts'
import { withNames } from '../core/model.ts'
import { linesForm } from '../core/money/pricing.ts'
import { moneyOf } from '../core/money/price.ts'
import type { Quotes, RouteQuote } from '../core/money/quote.ts'
import { assertValid } from '../http/check-error.ts'
import { restoreBase64 } from '../http/read-body.ts'
import { contextOf, type Operation, type OperationCall } from '../http/operation.ts'
import { chatAsImage } from './chat-images.ts'
import { checkFallbacks } from './check-fallbacks.ts'
import { isForPictures } from './create-chat-completion.ts'
import { editOf } from './create-image-edit.ts'
import { embeddingRequest } from './embedding-request.ts'
import { imageRequest } from './image-request.ts'
import { readCall as readMessage } from './messages/create-message.ts'
import { readCall as readResponse } from './responses/read-call.ts'

type Schemas = components['schemas']
type Options = Parameters<typeof readResponse>[1] & {
  gateway: Pick<Gateway, 'quoteChat' | 'quoteImage' | 'quoteEmbedding'>
  imageConfigOf: (providerId: string) => ImageConfigSchema
  takesImageConfig: (providerId: string) => boolean
}
type QuoteCall = OperationCall<'quotePrice'>
type Quote = (request: unknown, call: QuoteCall, options: Options) => Promise<Quotes>

/** POST /v1/prices */
export function quotePrice(options: Options): Operation<'quotePrice'> {
  return async (call) => {
    const { operation, request } = call.body
    const { routes, warnings } = await quoters[operation](request, call, options)
    const json: Schemas['PriceQuote'] = {
      object: 'price_quote',
      operation,
      is_charged: call.caller.mode === 'live',
      routes: routes.map(routeForm),
      warnings: [...warnings],
    }
    return { status: 200, json }
  }
}

/** Quotes by operation; each body is checked as in the operation itself. */
const quoters: Readonly<Record<Schemas['QuotedOperation'], Quote>> = {
  createImage: async (body, call, options) => {
    assertValid(bodyChecks.createImage, body)
    assertFallbacks(body, true, { call, options })
    return options.gateway.quoteImage(imageRequest(body), contextOf(call, 'images'))
  },
  createImageEdit: async (body, call, options) => {
    assertValid(bodyChecks.createImageEdit, body)
    assertFallbacks(body, true, { call, options })
    const { request, inputs } = editOf(body)
    return options.gateway.quoteImage(request, contextOf(call, 'images'), inputs)
  },
  createChatCompletion: async (asked, call, options) => {
    assertValid(bodyChecks.createChatCompletion, asked)
    const { texts, caller } = call
    const given = withoutEmpty(asked)
    const corrected = checkedPictures(given, texts, options.checkPicture)
    const body = corrected?.request ?? given
    const model = options.routes.peek(body.model, caller)
    const context = contextOf(call, 'chat', corrected?.warnings)
    const makesPictures = model !== undefined && isForPictures(model, body, options)
    assertFallbacks(body, makesPictures, { call, options })
    const request: ChatRequest = restoreBase64(body, texts, call.hold)
    if (!makesPictures) return options.gateway.quoteChat(request, context)
    checkConversation(request)
    const conversation = { request, asked: request }
    const { image, inputs, nameOf } = chatAsImage(conversation, model, options.imageConfigOf)
    return options.gateway.quoteImage(image, context, inputs).catch((error: unknown) => {
      throw error instanceof GatewayError ? error.named(nameOf) : error
    })
  },
  createResponse: async (body, call, options) => {
    assertValid(bodyChecks.createResponse, body)
    const { request, warnings, asked } = await readResponse({ ...call, body }, options)
    const { nameOf } = asked
    const explain = (error: GatewayError) => error.named(nameOf)
    const context = contextOf(call, 'responses', warnings.length > 0 ? warnings : undefined)
    return renamed(options.gateway.quoteChat(request, context), { nameOf, explain })
  },
  createMessage: async (body, call, options) => {
    assertValid(bodyChecks.createMessage, body)
    const { request, warnings, ...words } = readMessage({ ...call, body }, options)
    const context = contextOf(call, 'messages', warnings)
    return renamed(options.gateway.quoteChat(request, context), words)
  },
  createEmbedding: async (body, call, { gateway }) => {
    assertValid(bodyChecks.createEmbedding, body)
    return gateway.quoteEmbedding(embeddingRequest(body), contextOf(call, 'embeddings'))
  },
}

type Words = {
  nameOf: (param: string) => string
  explain: (error: GatewayError) => GatewayError
}

/** A quote, or its error, in the words of the API of the request. */
async function renamed(quoting: Promise<Quotes>, { nameOf, explain }: Words): Promise<Quotes> {
  try {
    const { routes, warnings } = await quoting
    return {
      routes: routes.map((one) => ({ ...one, warnings: withNames(one.warnings, nameOf) })),
      warnings: withNames(warnings, nameOf),
    }
  } catch (thrown) {
    throw thrown instanceof GatewayError ? explain(thrown) : thrown
  }
}

type Asking = { call: QuoteCall; options: Options }

function assertFallbacks(
  { models }: { models?: readonly string[] | null },
  makesPictures: boolean,
  { call: { caller }, options: { routes } }: Asking,
): void {
  checkFallbacks(models ?? [], makesPictures, (name) => routes.peek(name, caller))
}

function routeForm(quote: RouteQuote): Schemas['RouteQuote'] {
  const { model, provider, upstreamModel } = quote.route
  const priced =
    quote.kind === 'unknown'
      ? { amount: null, lines: null, exact_usd: null, multiplier: null }
      : { amount: moneyOf(quote.nanoUsd), ...linesForm(quote.lines, quote.multiplier) }
  return {
    model: model.row.id,
    provider: provider.id,
    upstream_model: upstreamModel,
    kind: quote.kind,
    ...priced,
    warnings: [...quote.warnings],
  }
}
