import type { components } from '../../generated/types.ts'
import type { Answered } from '../core/call.ts'
import type { ImageResult, Picture } from '../core/image/image.ts'
import { pixelsText } from '../core/image/size.ts'
import type { Usage } from '../core/money/price.ts'
import type { Answer } from '../http/answer.ts'
import { costFields, receiptHeaders } from '../http/receipt-headers.ts'

type Schemas = components['schemas']
type Tail = Omit<Schemas['ImagesResponse'], 'created' | 'data'>

/** Serializes an ImagesResponse, with base64 as bytes; `createdAt` is in milliseconds. */
export function imagesAnswer(answered: Answered<ImageResult>, createdAt: number): Answer {
  const { result, receipt } = answered
  return {
    status: 200,
    headers: { ...receiptHeaders(receipt), 'content-type': 'application/json' },
    pieces: [
      `{"created":${Math.floor(createdAt / 1000)},"data":[`,
      ...result.pictures.flatMap(pictureJson),
      `],${JSON.stringify(imagesTail(answered)).slice(1)}`,
    ],
  }
}

/** The members of an answer after its pictures; JSON has no members that are undefined. */
export function imagesTail({ result, usage, receipt }: Answered<ImageResult>): {
  [Name in keyof Tail]: Tail[Name] | undefined
} {
  const { pictures, background, quality } = result
  const formats = new Set(pictures.map(({ format }) => format))
  const sizes = new Set(pictures.map(pixelsText))
  return {
    background,
    output_format: formats.size === 1 ? pictures[0]!.format : undefined,
    size: sizes.size === 1 ? [...sizes][0]! : undefined,
    quality,
    usage: imageUsage(usage, receipt.cost),
    warnings: receipt.warnings.length > 0 ? [...receipt.warnings] : undefined,
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
  return { ...tokenCounts(usage), ...costFields(cost) }
}

/** The tokens of pictures in OpenAI's form; zeros if there is no usage. */
export function tokenCounts(usage: Usage | undefined) {
  const { inputTokens = 0, outputTokens = 0, imageInputTokens = 0 } = usage ?? {}
  return {
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    input_tokens_details: {
      text_tokens: inputTokens - imageInputTokens,
      image_tokens: imageInputTokens,
    },
  }
}
