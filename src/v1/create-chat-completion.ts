import type { components } from '../../generated/types.ts'
import type { Catalog } from '../core/catalog.ts'
import { checkConversation } from '../core/chat-check.ts'
import { chatUsage } from '../core/chat-stream.ts'
import type { ChatRequest } from '../core/chat.ts'
import type { Gateway } from '../core/gateway.ts'
import { makesImages } from '../core/model.ts'
import { noUsage } from '../core/price.ts'
import type { Answer } from '../http/answer.ts'
import { contextOf, type Operation } from '../http/operation.ts'
import { receiptHeaders } from '../http/receipt-headers.ts'
import type { ReadSources } from '../core/image.ts'
import { chatImages } from './chat-images.ts'

type Options = {
  gateway: Gateway
  catalog: Pick<Catalog, 'find'>
  readSources: ReadSources
  clock: () => number
}

/** POST /v1/chat/completions: a language model answers, or an image model paints. */
export function createChatCompletion(options: Options): Operation<'createChatCompletion'> {
  const { gateway, catalog } = options
  return async (call) => {
    const request: ChatRequest = call.body
    checkConversation(request)
    const context = contextOf(call, 'chat')
    const { model } = catalog.find(request.model)
    if (makesImages(model) || (model.undescribed && request.image_config !== undefined)) {
      return chatImages(request, model, context, options)
    }
    if (request.stream === true) {
      const { receipt, pipe } = await gateway.chatStream(request, context)
      return { status: 200, headers: receiptHeaders(receipt), events: pipe }
    }
    const { result, usage = noUsage, receipt } = await gateway.chat(request, context)
    const completion: components['schemas']['ChatCompletion'] = {
      ...result.completion,
      usage: chatUsage(usage, receipt),
      ...(receipt.warnings.length > 0 ? { warnings: [...receipt.warnings] } : {}),
    }
    return { status: 200, headers: receiptHeaders(receipt), json: completion } satisfies Answer
  }
}
