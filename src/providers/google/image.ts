import { ProviderFailure } from '../../core/failure.ts'
import type { ImageAdapter, ImageCall, ImageResult } from '../../core/image.ts'
import { readPicture } from '../../core/picture.ts'
import type { Usage } from '../../core/price.ts'
import { base64Reader, type SplicedJson } from '../base64-reader.ts'
import { jsonRequests, type Endpoint } from '../endpoint.ts'
import { receive } from '../upstream.ts'
import { readFailure } from './failure.ts'

type WirePart = {
  text?: string
  thought?: boolean
  inlineData?: { mimeType?: string; data?: string }
}
type WireAnswer = {
  candidates?: { content?: { parts?: WirePart[] }; finishReason?: string; finishMessage?: string }[]
  promptFeedback?: { blockReason?: string; blockReasonMessage?: string }
  usageMetadata?: {
    promptTokenCount?: number
    toolUsePromptTokenCount?: number
    candidatesTokenCount?: number
    thoughtsTokenCount?: number
    cachedContentTokenCount?: number
    promptTokensDetails?: { modality?: string; tokenCount?: number }[]
    candidatesTokensDetails?: { modality?: string; tokenCount?: number }[]
  }
}

/** Pictures over `generateContent`, one a call (providers.md section 1). */
export function imageAdapter(endpoint: Endpoint): ImageAdapter {
  const { dispatch, keys, limits } = endpoint
  const requestTo = jsonRequests(endpoint, (key) => ({ 'x-goog-api-key': key }))
  const bytesMax = limits.answerBytesMax
  return {
    picturesPerCall: () => 1,
    problems: () => [],
    generate: (call) => {
      const path = `/v1beta/models/${encodeURIComponent(call.route.upstreamModel)}:generateContent`
      const request = requestTo(path, wireRequest(call))
      return receive({ dispatch, request, signal: call.signal, bytesMax }, (head) => {
        if (head.status !== 200) return readFailure(head, keys)
        const reader = base64Reader('data')
        return { push: reader.push, finish: () => readAnswer(reader.finish()) }
      })
    },
  }
}

function wireRequest({ request, plan, route, index }: ImageCall): object {
  const { aspectRatio, sizeClass, seed } = plan
  // A model of one class refuses to be told which.
  const classes = route.model.row.image?.size.size_classes ?? []
  const imageSize = classes.length > 1 ? sizeClass : undefined
  const imageConfig = {
    ...(aspectRatio === undefined ? {} : { aspectRatio }),
    ...(imageSize === undefined ? {} : { imageSize }),
  }
  const pictures = request.sources.map(({ base64, format }) => ({
    inlineData: { mimeType: `image/${format}`, data: base64 },
  }))
  return {
    contents: [{ role: 'user', parts: [{ text: request.prompt }, ...pictures] }],
    generationConfig: {
      responseModalities: ['IMAGE'],
      ...(Object.keys(imageConfig).length === 0 ? {} : { imageConfig }),
      ...(seed === undefined ? {} : { seed: seed + index }),
    },
  }
}

/** Blocked prompts and outputs come with status 200 (providers.md section 1.3). */
const blocked = new Set([
  'SAFETY',
  'IMAGE_SAFETY',
  'PROHIBITED_CONTENT',
  'IMAGE_PROHIBITED_CONTENT',
  'BLOCKLIST',
  'SPII',
  'RECITATION',
  'IMAGE_RECITATION',
])

function readAnswer({ json, texts }: SplicedJson): ImageResult {
  const { candidates = [], promptFeedback, usageMetadata } = (json ?? {}) as WireAnswer
  if (promptFeedback?.blockReason !== undefined) {
    throw refused(promptFeedback.blockReasonMessage ?? promptFeedback.blockReason)
  }
  const [candidate] = candidates
  const parts = (candidate?.content?.parts ?? []).filter(({ thought }) => thought !== true)
  // Drafts come first: the last picture is the one that is meant.
  const final = parts.findLast(({ inlineData }) => inlineData?.data !== undefined)
  if (final === undefined) {
    const reason = candidate?.finishReason ?? 'no candidate'
    if (blocked.has(reason)) throw refused(candidate?.finishMessage ?? reason)
    throw new ProviderFailure('malformed', `The provider made no picture (${reason}).`)
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

function readUsage(wire: WireAnswer['usageMetadata']): Usage | undefined {
  if (wire?.promptTokenCount === undefined) return undefined
  const images = (details: { modality?: string; tokenCount?: number }[] = []) =>
    details
      .filter(({ modality }) => modality === 'IMAGE')
      .reduce((sum, { tokenCount = 0 }) => sum + tokenCount, 0)
  return {
    inputTokens: wire.promptTokenCount + (wire.toolUsePromptTokenCount ?? 0),
    outputTokens: (wire.candidatesTokenCount ?? 0) + (wire.thoughtsTokenCount ?? 0),
    cachedInputTokens: wire.cachedContentTokenCount ?? 0,
    imageInputTokens: images(wire.promptTokensDetails),
    imageOutputTokens: images(wire.candidatesTokensDetails),
    images: 0,
    estimated: false,
  }
}
