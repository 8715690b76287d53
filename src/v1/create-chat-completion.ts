import type { components } from '../../generated/types.ts'
import type { ChatRequest } from '../core/chat/chat.ts'
import { checkConversation, checkedPictures } from '../core/chat/check.ts'
import { withoutEmpty } from '../core/chat/default-values.ts'
import type { Gateway } from '../core/gateway.ts'
import type { ImageConfigSchema } from '../core/image/chat-to-image.ts'
import type { CheckPicture } from '../core/image/image.ts'
import { makesImages, type Model } from '../core/model.ts'
import { noUsage, type Usage } from '../core/money/price.ts'
import type { Receipt } from '../core/receipt.ts'
import type { RouteTable } from '../core/route.ts'
import { restoreBase64 } from '../http/read-body.ts'
import { contextOf, type Operation } from '../http/operation.ts'
import { receiptHeaders } from '../http/receipt-headers.ts'
import { chatUsage, streamChat } from './chat-events.ts'
import { chatImages } from './chat-images.ts'

import { checkFallbacks } from './check-fallbacks.ts'

type Options = {
  gateway: Gateway
  routes: Pick<RouteTable, 'peek'>
  /** The schema of `image_config` for the models of a provider. */
  imageConfigOf: (providerId: string) => ImageConfigSchema
  /** Whether a provider makes pictures in chats. */
  takesImageConfig: (providerId: string) => boolean
  checkPicture: CheckPicture
  clock: () => number
}

/** POST /v1/chat/completions, for language models and image models. */
export function createChatCompletion(options: Options): Operation<'createChatCompletion'> {
  const { gateway, routes } = options
  return async (call) => {
    const { texts } = call
    const asked = withoutEmpty(call.body)
    const corrected = checkedPictures(asked, texts, options.checkPicture)
    const body = corrected?.request ?? asked
    const context = contextOf(call, 'chat', corrected?.warnings)
    // A request for an unknown model goes to `gateway.chat`, which refuses and counts it.
    const model = routes.peek(body.model, call.caller)
    const makesPictures = model !== undefined && isForPictures(model, body, options)
    checkFallbacks(body.models ?? [], makesPictures, (name) => routes.peek(name, call.caller))
    if (makesPictures) {
      checkConversation(body)
      return chatImages({ body, texts }, model, context, options)
    }
    const request: ChatRequest = restoreBase64(body, texts, call.hold)
    if (request.stream === true) {
      const streamed = await gateway.chatStream(request, context)
      const headers = receiptHeaders(streamed.receipt)
      return { status: 200, headers, ...streamChat(streamed, request, context.requestId) }
    }
    const { result, usage = noUsage, receipt } = await gateway.chat(request, context)
    const json = withReceipt(result.text, usage, receipt)
    return { status: 200, headers: receiptHeaders(receipt), json }
  }
}

/**
 * Whether a request is for the images API of a provider. For a model without a description
 * `image_config` decides, unless its provider makes pictures in chats.
 */
export function isForPictures(
  model: Model,
  { image_config: config }: ChatRequest,
  { takesImageConfig }: Pick<Options, 'takesImageConfig'>,
): boolean {
  if (makesImages(model)) return true
  return model.undescribed && config !== undefined && !takesImageConfig(model.row.provider)
}

type Added = Pick<components['schemas']['ChatCompletion'], 'usage' | 'warnings'>

/** A completion's JSON with usage, cost and warnings added. */
function withReceipt(completion: string, usage: Usage, receipt: Receipt): string {
  const added: Added = { usage: chatUsage(usage, receipt) }
  if (receipt.warnings.length > 0) added.warnings = [...receipt.warnings]
  return `${completion.slice(0, -1)},${JSON.stringify(added).slice(1)}`
}
