import type {
  Candidate,
  Content,
  GenerateContentResponseUsageMetadata,
  GenerationConfig,
  ImageConfig,
  Modality,
} from '@google/genai'
import { ProviderFailure } from '../../core/failure.ts'
import {
  seedOf,
  type ImageAdapter,
  type ImageCall,
  type ImageResult,
} from '../../core/image/image.ts'
import { readPicture } from '../../core/image/picture.ts'
import { jsonRequests } from '../transport/dispatch.ts'
import type { Endpoint } from '../transport/endpoint.ts'
import { receive } from '../transport/upstream.ts'
import { base64Reader, type SplicedJson } from '../wire/base64-reader.ts'
import { pictureText, printJson, type LongText } from '../wire/long-text.ts'
import { blocked } from './answer.ts'
import { readFailure } from './failure.ts'
import { readUsage } from './usage.ts'

/** The members of an answer that are read. */
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

/** Images over `generateContent`, one a call (docs/vendors.md#gemini-images). */
export function imageAdapter(endpoint: Endpoint): ImageAdapter {
  const { dispatch, redact, limits } = endpoint
  const requestTo = jsonRequests(endpoint, { print: printJson })
  const bytesMax = limits.answerBytesMax
  return {
    picturesPerCall: () => 1,
    generate: async (call) => {
      const path = `/v1beta/models/${encodeURIComponent(call.target.upstreamModel)}:generateContent`
      const body = wireRequest(call)
      for (let triesLeft = picturelessTriesMax; ; triesLeft--) {
        const request = requestTo(path, body)
        const { signal } = call
        const answer = await receive({ dispatch, request, signal, bytesMax }, (head) => {
          if (head.status !== 200) return readFailure(head, redact)
          const reader = base64Reader('data')
          return { push: reader.push, finish: () => readAnswer(reader.finish()) }
        })
        if (!('pictureless' in answer)) return answer
        if (triesLeft > 1) continue
        const message = `The provider made no picture (${answer.pictureless}).`
        throw new ProviderFailure('malformed', message, { status: 200 })
      }
    },
  }
}

/** An answer of text alone is rare and seldom comes twice, so it is asked for once more. */
const picturelessTriesMax = 2

function wireRequest(call: ImageCall): WireRequest {
  const { request, plan, target } = call
  const { aspectRatio, sizeClass } = plan
  // A model with a single size class refuses `imageSize`.
  const classes = target.model.row.image?.size.size_classes ?? []
  const imageSize = classes.length > 1 ? sizeClass : undefined
  const imageConfig = {
    ...(aspectRatio === undefined ? {} : { aspectRatio }),
    ...(imageSize === undefined ? {} : { imageSize }),
  }
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

function readAnswer({ json, texts }: SplicedJson): ImageResult | { pictureless: string } {
  // Not validated: `receive` reports a wrong shape as `malformed`.
  const { candidates = [], promptFeedback, usageMetadata } = (json ?? {}) as WireAnswer
  if (promptFeedback?.blockReason !== undefined) {
    throw refused(promptFeedback.blockReasonMessage ?? promptFeedback.blockReason)
  }
  const [candidate] = candidates
  const parts = (candidate?.content?.parts ?? []).filter(({ thought }) => thought !== true)
  // Drafts come first: the last image is the final one.
  const final = parts.findLast(({ inlineData }) => inlineData?.data !== undefined)
  if (final === undefined) {
    const reason = candidate?.finishReason ?? 'no candidate'
    if (blocked.has(reason)) throw refused(candidate?.finishMessage ?? reason)
    return { pictureless: reason }
  }
  const picture = readPicture(texts[Number(final.inlineData!.data!.slice(1))] ?? [])
  if (picture === undefined) {
    throw new ProviderFailure('malformed', 'The provider answered with no PNG, JPEG or WebP.')
  }
  const text = parts.map((part) => part.text ?? '').join('')
  const usage = readUsage(usageMetadata)
  return {
    pictures: [picture],
    ...(text === '' ? {} : { text }),
    ...(usage === undefined ? {} : { usage }),
  }
}

function refused(reason: string): ProviderFailure {
  return new ProviderFailure(
    'content_policy',
    `The provider refused the request as unsafe: ${reason}.`,
  )
}
