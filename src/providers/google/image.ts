import type {
  Candidate,
  Content,
  GenerateContentResponseUsageMetadata,
  GenerationConfig,
  ImageConfig,
  Modality,
} from '@google/genai'
import { ProviderFailure } from '../../core/failure.ts'
import { prune } from '../../core/prune.ts'
import {
  seedOf,
  type ImageAdapter,
  type ImageCall,
  type ImageResult,
} from '../../core/image/image.ts'
import type { Target } from '../../core/model.ts'
import { readPicture } from '../../core/image/picture.ts'
import { countedFailure } from '../transport/answer-failure.ts'
import { jsonRequests } from '../transport/dispatch.ts'
import type { Endpoint } from '../transport/endpoint.ts'
import { failureOf } from '../transport/complaint.ts'
import { receive } from '../transport/upstream.ts'
import type { VendorTexts } from '../transport/vendor-texts.ts'
import { base64Reader, type SplicedJson } from '../wire/base64-reader.ts'
import { tokensMaxOf } from '../wire/token-count.ts'
import { pictureText, printJson, type LongText } from '../wire/long-text.ts'
import { blocked, readFailure, readUsage, refusedFor } from './answer.ts'

type WireAnswer = {
  candidates?: (Pick<Candidate, 'content' | 'finishMessage'> & { finishReason?: string })[]
  promptFeedback?: { blockReason?: string; blockReasonMessage?: string }
  usageMetadata?: GenerateContentResponseUsageMetadata
}
type WirePart = { text: string } | { inlineData: { mimeType: string; data: LongText } }
type WireRequest = {
  contents: (Pick<Content, 'role'> & { parts: WirePart[] })[]
  generationConfig: Omit<GenerationConfig, 'responseModalities'> & {
    responseModalities: `${Modality}`[]
    imageConfig?: ImageConfig
  }
}

/** Images through `generateContent`, asked for one by one (docs/vendors.md#gemini-images). */
export function imageAdapter(endpoint: Endpoint, modelsPath: string): ImageAdapter {
  const { dispatch, texts, limits } = endpoint
  const requestTo = jsonRequests(endpoint, { print: printJson })
  const bytesMax = limits.answerBytesMax
  return {
    picturesPerCall: () => 1,
    generate: (call) => {
      const path = `${modelsPath}/${encodeURIComponent(call.target.upstreamModel)}:generateContent`
      const request = requestTo(path, wireRequest(call))
      return receive({ dispatch, request, bytesMax }, call.turn, (head) => {
        if (head.status !== 200) return readFailure(head, texts)
        const reader = base64Reader('data')
        return {
          push: reader.push,
          finish: () => readAnswer(reader.finish(), { texts, target: call.target }),
        }
      })
    },
  }
}

function wireRequest(call: ImageCall): WireRequest {
  const { request, plan, target } = call
  const { aspectRatio, sizeClass } = plan
  // A model with a single size class refuses `imageSize`.
  const classes = target.model.row.image?.size.size_classes ?? []
  const imageSize = classes.length > 1 ? sizeClass : undefined
  const imageConfig = prune({ aspectRatio, imageSize })
  const pictures = request.sources.map((source) => ({
    inlineData: { mimeType: `image/${source.format}`, data: pictureText(source) },
  }))
  return {
    contents: [{ role: 'user', parts: [{ text: request.prompt }, ...pictures] }],
    generationConfig: {
      responseModalities: ['IMAGE'],
      ...(Object.keys(imageConfig).length === 0 ? {} : { imageConfig }),
      ...seedOf(call),
    },
  }
}

function readAnswer(
  { json, texts: base64 }: SplicedJson,
  { texts, target }: { texts: VendorTexts; target: Target },
): ImageResult {
  // The answer is not validated: a wrong shape is reported as `malformed`.
  const answer = (json ?? {}) as WireAnswer
  const usage = readUsage(answer.usageMetadata, tokensMaxOf(target))
  try {
    const made = madeIn(answer, base64, texts)
    if (usage !== undefined) made.usage = usage
    return made
  } catch (error) {
    throw countedFailure(error, usage)
  }
}

function madeIn(
  { candidates = [], promptFeedback }: WireAnswer,
  base64: SplicedJson['texts'],
  texts: VendorTexts,
): ImageResult {
  if (promptFeedback?.blockReason !== undefined) {
    throw refusedFor(promptFeedback.blockReasonMessage ?? promptFeedback.blockReason, texts)
  }
  const [candidate] = candidates
  if (candidate === undefined) throw new ProviderFailure('malformed', 'The answer is empty.')
  const parts = (candidate.content?.parts ?? []).filter(({ thought }) => thought !== true)
  const text = parts.map((part) => part.text ?? '').join('')
  const marks = parts.flatMap(({ inlineData }) => inlineData?.data ?? [])
  if (marks.length === 0) throw pictureless(candidate, text, texts)
  const pictures = marks.slice(-picturesMax).map((mark) => {
    const picture = readPicture(base64[Number(mark.slice(1))] ?? [])
    if (picture !== undefined) return picture
    throw new ProviderFailure('malformed', "The provider's picture is not a PNG, JPEG or WebP.")
  })
  return { pictures, ...(text === '' ? {} : { text }) }
}

/** The most pictures of an answer that are read; more have not been seen. */
const picturesMax = 10

/** Finish reasons after which a repeated request may succeed (docs/vendors.md#gemini-images). */
const retryable = new Set(['NO_IMAGE', 'IMAGE_OTHER', 'STOP', 'FINISH_REASON_UNSPECIFIED'])
/** Finish reasons of an answer that resembles training data; another vendor's model may succeed. */
const recited = new Set(['RECITATION', 'IMAGE_RECITATION'])

function pictureless(
  { finishReason = 'STOP', finishMessage }: NonNullable<WireAnswer['candidates']>[0],
  text: string,
  texts: VendorTexts,
): ProviderFailure {
  if (blocked.has(finishReason) && !recited.has(finishReason)) {
    return refusedFor(finishMessage ?? finishReason, texts)
  }
  const said = finishMessage ?? text
  const message =
    said === ''
      ? `The model made no picture (${finishReason}). Try again, or rephrase the prompt.`
      : `The model made no picture and answered: ${said}`
  const kind = retryable.has(finishReason) ? 'no_picture' : 'malformed'
  return failureOf(kind, { message }, { status: 200, texts })
}
