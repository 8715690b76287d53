import { bodyChecks } from '../../generated/checks.js'
import type { components } from '../../generated/types.ts'
import { GatewayError, withName } from '../core/error.ts'
import { withNames } from '../core/model.ts'
import { linesForm } from '../core/money/pricing.ts'
import { moneyOf } from '../core/money/price.ts'
import type { Quotes, RouteQuote } from '../core/money/quote.ts'
import { assertValid } from '../http/check-error.ts'
import { contextOf, type Operation, type OperationCall } from '../http/operation.ts'
import { readCompletion } from './create-chat-completion.ts'
import { embeddingInputs } from './create-embedding.ts'
import { editInputs } from './create-image-edit.ts'
import { imageInputs } from './create-image.ts'
import { readCall as readMessage } from './messages/create-message.ts'
import { readCall as readResponse, type ReadOptions } from './responses/read-call.ts'

type Schemas = components['schemas']
type QuoteCall = OperationCall<'quotePrice'>
type Quote = (request: unknown, call: QuoteCall, options: ReadOptions) => Promise<Quotes>

/** POST /v1/prices */
export function quotePrice(options: ReadOptions): Operation<'quotePrice'> {
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

/** Quotes by operation; each body is checked and read as in the operation itself. */
const quoters: Readonly<Record<Schemas['QuotedOperation'], Quote>> = {
  createImage: async (body, call, { gateway }) => {
    assertValid(bodyChecks.createImage, body)
    return gateway.quoteImage(imageInputs({ ...call, body }, gateway), contextOf(call, 'images'))
  },
  createImageEdit: async (body, call, { gateway }) => {
    assertValid(bodyChecks.createImageEdit, body)
    return gateway.quoteImage(editInputs({ ...call, body }, gateway), contextOf(call, 'images'))
  },
  createChatCompletion: async (body, call, { gateway }) => {
    assertValid(bodyChecks.createChatCompletion, body)
    const { chat, pictures, warnings } = readCompletion({ ...call, body }, gateway)
    const context = contextOf(call, 'chat', warnings)
    if (chat !== undefined) return gateway.quoteChat(chat, context)
    return gateway.quoteImage(pictures, context).catch((error: unknown) => {
      throw withName(error, pictures.nameOf)
    })
  },
  createResponse: async (body, call, options) => {
    assertValid(bodyChecks.createResponse, body)
    const read = await readResponse({ ...call, body }, options)
    const { nameOf, warnings } = read
    const explain = (error: GatewayError) => error.named(nameOf)
    const context = contextOf(call, 'responses', warnings)
    return renamed(options.gateway.quoteChat(read, context), { nameOf, explain })
  },
  createMessage: async (body, call, options) => {
    assertValid(bodyChecks.createMessage, body)
    const read = readMessage({ ...call, body }, options)
    const context = contextOf(call, 'messages', read.warnings)
    return renamed(options.gateway.quoteChat(read, context), read)
  },
  createEmbedding: async (body, call, { gateway }) => {
    assertValid(bodyChecks.createEmbedding, body)
    const inputs = embeddingInputs({ ...call, body }, gateway)
    return gateway.quoteEmbedding(inputs, contextOf(call, 'embeddings'))
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
