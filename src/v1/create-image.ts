import type { components } from '../../generated/types.ts'
import type { Answered } from '../core/call.ts'
import type { Gateway } from '../core/gateway.ts'
import { prune } from '../core/prune.ts'
import type { ImageRequest, ImageResult, Picture } from '../core/image/image.ts'
import { pixelsText } from '../core/image/size.ts'
import type { ImageInputs } from '../core/image/work.ts'
import { checkFallbacks, modelsOf } from '../core/model.ts'
import type { Usage } from '../core/money/price.ts'
import type { Answer } from '../http/answer.ts'
import { contextOf, type Body, type Operation, type OperationCall } from '../http/operation.ts'
import { costFields, receiptHeaders } from '../http/receipt-headers.ts'

type Schemas = components['schemas']

/** POST /v1/images/generations */
export function createImage({
  gateway,
  clock,
}: {
  gateway: Pick<Gateway, 'find' | 'image'>
  clock: () => number
}): Operation<'createImage'> {
  return async (call) => {
    const answered = await gateway.image(imageInputs(call, gateway), contextOf(call, 'images'))
    return imagesAnswer(answered, clock())
  }
}

/** The inputs of the core for a request of the images API. Throws a GatewayError. */
export function imageInputs(
  { body, caller }: Pick<OperationCall<'createImage'>, 'caller'> & { body: ImageBody },
  { find }: Pick<Gateway, 'find'>,
): ImageInputs {
  const models = modelsOf(body, caller, find)
  checkFallbacks(models, true)
  return { request: imageRequest(body), models }
}

type ImageBody = Omit<Body<'createImage'>, 'response_format'> &
  Pick<Partial<Body<'createImageEdit'>>, 'input_fidelity'>

/** The core's request for a body of the images API, where null means absent. */
export function imageRequest(body: ImageBody): ImageRequest {
  const { model, prompt, n, models, size, quality, style, background } = body
  const { moderation, complexity, user } = body
  const named = {
    inputFidelity: body.input_fidelity,
    outputFormat: body.output_format,
    outputCompression: body.output_compression,
    safetyIdentifier: body.safety_identifier || null,
  }
  const plain = { models, size, quality, style, background, moderation, complexity, user }
  return { model, prompt, n, ...prune({ ...plain, ...named }) }
}

type Tail = Omit<Schemas['ImagesResponse'], 'created' | 'data'>

/** Serializes an ImagesResponse, with base64 as bytes; `createdAt` is in milliseconds. */
export function imagesAnswer(
  { result, usage, receipt }: Answered<ImageResult>,
  createdAt: number,
): Answer {
  const { pictures, background, quality } = result
  const formats = new Set(pictures.map(({ format }) => format))
  const sizes = new Set(pictures.map(pixelsText))
  // JSON has no members that are undefined.
  const tail: { [Name in keyof Tail]: Tail[Name] | undefined } = {
    background,
    output_format: formats.size === 1 ? pictures[0]!.format : undefined,
    size: sizes.size === 1 ? [...sizes][0]! : undefined,
    quality,
    usage: imageUsage(usage, receipt.cost),
    warnings: receipt.warnings.length > 0 ? [...receipt.warnings] : undefined,
  }
  return {
    status: 200,
    headers: { ...receiptHeaders(receipt), 'content-type': 'application/json' },
    pieces: [
      `{"created":${Math.floor(createdAt / 1000)},"data":[`,
      ...pictures.flatMap(pictureJson),
      `],${JSON.stringify(tail).slice(1)}`,
    ],
  }
}

function pictureJson({ base64, revisedPrompt }: Picture, index: number): (string | Buffer)[] {
  const comma = index === 0 ? '' : ','
  const prompt =
    revisedPrompt === undefined ? '' : `"revised_prompt":${JSON.stringify(revisedPrompt)},`
  return [`${comma}{${prompt}"b64_json":"`, ...base64, '"}']
}

function imageUsage(
  usage: Usage | undefined,
  cost: Answered<ImageResult>['receipt']['cost'],
): Schemas['ImageUsage'] {
  const { inputTokens = 0, outputTokens = 0, imageInputTokens = 0 } = usage ?? {}
  return {
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    input_tokens_details: {
      text_tokens: inputTokens - imageInputTokens,
      image_tokens: imageInputTokens,
    },
    ...costFields(cost),
  }
}
