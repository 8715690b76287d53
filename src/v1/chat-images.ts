import { schemaChecks } from '../../generated/checks.js'
import type { CallContext } from '../core/caller.ts'
import type { ChatRequest } from '../core/chat/chat.ts'
import { GatewayError } from '../core/error.ts'
import type { Gateway } from '../core/gateway.ts'
import {
  chatToImage,
  conversationInputs,
  ignoredFields,
  ignoredMessages,
  type ImageConfig,
  type ImageConfigSchema,
} from '../core/image/chat-to-image.ts'
import type { AskedImage, ExtractedTexts, Picture } from '../core/image/image.ts'
import type { ImageInputs } from '../core/image/work.ts'
import type { Model } from '../core/model.ts'
import { noUsage } from '../core/money/price.ts'
import type { Answer } from '../http/answer.ts'
import { assertValid } from '../http/check-error.ts'
import { restoreBase64 } from '../http/read-body.ts'
import { receiptHeaders } from '../http/receipt-headers.ts'
import { chatUsage, doneEvent } from './chat-events.ts'

type Options = {
  gateway: Gateway
  /** The schema of `image_config` for the models of a provider. */
  imageConfigOf: (providerId: string) => ImageConfigSchema
  clock: () => number
}

/** Answers a chat request with an image model: pictures in `message.images`. */
export async function chatImages(
  { body: request, texts }: { body: ChatRequest; texts: ExtractedTexts },
  model: Model,
  context: CallContext,
  { gateway, imageConfigOf, clock }: Options,
): Promise<Answer> {
  // Warnings quote the request with its texts; `messages` is left out, since no warning quotes it.
  const asked = restoreBase64({ ...request, messages: [] }, texts, context.hold)
  const { image, inputs, nameOf } = chatAsImage({ request, asked }, model, imageConfigOf)
  const answered = gateway.image(image, context, { ...inputs, texts }).catch((error: unknown) => {
    // The error names parameters of the images API, which become those of the chat request.
    throw error instanceof GatewayError ? error.named(nameOf) : error
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
  if (request.stream !== true) {
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
  const close = (finish: string) => `,"logprobs":null,"finish_reason":${finish}}]}\n\n`
  const wantsUsage = request.stream_options?.include_usage === true
  const pieces = [
    `${open}{"role":"assistant","content":"","refusal":null}${close('null')}`,
    `${open}{${content},"images":[`,
    ...images,
    `]}${close('null')}${open}{}${close('"stop"')}`,
    ...(wantsUsage ? [`data: ${chunk},"choices":[],"usage":${usageJson}${warningsJson}}\n\n`] : []),
  ]
  const events: NonNullable<Answer['events']> = async (sink) => {
    for (const piece of pieces) sink.write(typeof piece === 'string' ? Buffer.from(piece) : piece)
    return Buffer.from(doneEvent)
  }
  return { status: 200, headers, events }
}

type Conversation = {
  request: ChatRequest
  /** The request with its base64 texts restored, for warnings. */
  asked: ChatRequest
}

/** Converts a chat request for an image model. Throws a GatewayError for an unsupported option. */
export function chatAsImage(
  { request, asked }: Conversation,
  model: Model,
  imageConfigOf: Options['imageConfigOf'],
): { image: AskedImage; inputs: ImageInputs; nameOf: (param: string) => string } {
  const given: object = request.image_config ?? {}
  assertValid(schemaChecks[imageConfigOf(model.row.provider)], given, {
    prefix: 'image_config',
  })
  // `given` holds the checked options of one group; ImageConfig has the options of all groups.
  const config: ImageConfig = given
  const nameOf = nameIn(config)
  const warnings = [...ignoredFields(asked, config), ...ignoredMessages(request)]
  const inputs = { ...conversationInputs(request), nameOf, warnings }
  return { image: chatToImage(request, config), inputs, nameOf }
}

/** Maps parameters of the images API to those of a chat request with this `image_config`. */
function nameIn(config: ImageConfig): (param: string) => string {
  return (param) => {
    if (param === 'prompt') return 'messages'
    const name = param === 'size' ? 'image_size' : param
    return name in config ? `image_config.${name}` : param
  }
}

/** One item of `images`; the media type is detected from the bytes. */
function imageJson({ base64, format }: Picture, index: number): (string | Buffer)[] {
  const comma = index === 0 ? '' : ','
  const start = `${comma}{"type":"image_url","image_url":{"url":"data:image/${format};base64,`
  return [start, ...base64, '"}}']
}
