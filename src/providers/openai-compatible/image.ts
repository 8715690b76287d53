import type {
  Image,
  ImageGenerateParamsNonStreaming,
  ImagesResponse,
} from 'openai/resources/images'
import { afterSpending, ProviderFailure } from '../../core/failure.ts'
import { prune } from '../../core/prune.ts'
import {
  seedOf,
  type ImageAdapter,
  type ImageCall,
  type ImagePlan,
  type ImageResult,
  type Picture,
} from '../../core/image/image.ts'
import { readMade } from '../../core/image/picture.ts'
import { pixelsText } from '../../core/image/size.ts'
import { noUsage, type Usage } from '../../core/money/price.ts'
import { countedFailure } from '../transport/answer-failure.ts'
import { jsonRequests, withKey, type UpstreamRequest } from '../transport/dispatch.ts'
import { receive } from '../transport/upstream.ts'
import type { VendorTexts } from '../transport/vendor-texts.ts'
import { base64Reader, type SplicedJson } from '../wire/base64-reader.ts'
import { isEventStream } from '../wire/event-source.ts'
import { formBytes, printForm } from '../wire/form.ts'
import { printJson } from '../wire/long-text.ts'
import { isMembers, membersOf } from '../../core/any-json.ts'
import { tokensMaxOf, usageOf, type TokensMax } from '../wire/token-count.ts'
import { type OpenAiEndpoint, asBase64, type ImageDialect, type ImageItem } from './dialect.ts'
import { bodyFailure, readFailure } from './failure.ts'
import { aboutOf, isMark, partialsOf, streamReader } from './image-stream.ts'
import type { ReadCost } from './usage.ts'
import { assertTaken } from '../../core/error.ts'

/** The members of an answer that the adapter reads; compatible servers may omit any of them. */
type WireImages = {
  data?: (Partial<Image> & ImageItem)[]
  background?: ImagesResponse['background']
  quality?: string
  usage?: unknown
  /** The tokens of the model that wrote an SVG. */
  svg_usage?: unknown
}
/** OpenAI's fields, with any size, quality or style of a catalog row or server. */
type WireRequest = Omit<
  ImageGenerateParamsNonStreaming,
  'quality' | 'size' | 'style' | 'stream'
> & {
  quality?: string
  size?: string
  style?: string
  seed?: number
  input_fidelity?: string
}

/** Images of `/images/generations` and `/images/edits`; base64 is forwarded without parsing. */
export function imageAdapter(endpoint: OpenAiEndpoint): ImageAdapter {
  const { dispatch, texts, limits, fetchPicture, dialect, imageDialect = {} } = endpoint
  const { unlisted, isRefused } = imageDialect
  const bytesMax = limits.answerBytesMax
  const { readCost } = dialect ?? {}
  const requestFor = imageRequests(endpoint)
  return {
    ...prune({ unlisted }),
    ...(readCost === undefined ? {} : { reportsCost: true }),
    picturesPerCall: ({ model }) => (model.row.image ?? unlisted?.image)?.images_per_call_max ?? 1,
    generate: async (call) => {
      const { turn, count } = call
      const tokensMax = tokensMaxOf(call.target, count)
      const reading = { count, texts, tokensMax, readCost, isRefused }
      // A form has copies of the pictures, without base64.
      const { sources } = imageDialect.edits ? { sources: [] } : call.request
      const copied = formBytes(sources)
      assertTaken(copied === 0 ? undefined : turn.memory.takeMore(copied))
      const request = requestFor(call)
      const { items, ...rest } = await receive({ dispatch, request, bytesMax }, turn, (head) => {
        if (head.status !== 200) return readFailure(head, endpoint)
        // Servers that do not stream images ignore the request for it.
        if (partialsOf(call) !== undefined && isEventStream(head)) {
          return streamReader(call, texts, (completed) => readImages(completed, reading))
        }
        const reader = base64Reader('b64_json')
        return { push: reader.push, finish: () => readImages(reader.finish(), reading) }
      }).finally(() => turn.memory.give(copied))
      const pictures = items.map(async ({ picture, revisedPrompt }) => {
        const made = typeof picture === 'string' ? await fetchPicture(picture, turn) : picture
        return revisedPrompt === undefined ? made : { ...made, revisedPrompt }
      })
      try {
        return { ...rest, pictures: await Promise.all(pictures) }
      } catch (error) {
        throw afterSpending(error, { ...(rest.usage ?? noUsage), images: items.length })
      }
    },
  }
}

/** Sends input pictures as JSON in the vendor's form, or as a multipart form. */
function imageRequests(endpoint: OpenAiEndpoint): (call: ImageCall) => UpstreamRequest {
  const requestTo = jsonRequests(endpoint, { print: printJson })
  const { imageDialect = {} } = endpoint
  const { edits } = imageDialect
  const write = (call: ImageCall): UpstreamRequest => {
    const body = wireRequest(call, imageDialect)
    const { sources } = call.request
    if (sources.length === 0) return requestTo('/images/generations', body)
    if (edits !== undefined) return requestTo(edits.path, { ...body, ...edits.inputs(sources) })
    const sent = requestTo('/images/edits', {})
    // The order and the names of OpenAI's SDKs.
    const name = sources.length === 1 ? 'image' : 'image[]'
    const { contentType, body: form } = printForm(body, sources, () => name)
    return { ...sent, headers: { ...sent.headers, 'content-type': contentType }, body: form }
  }
  return (call) => {
    const { idempotencyKey: key } = call.turn
    const own = key && `${key}-${call.index}`
    const request = withKey(write(call), imageDialect.idempotencyHeader, own)
    if (partialsOf(call) === undefined) return request
    // A pause after a partial image is as long as the wait for a picture.
    const { limits } = endpoint
    return { ...request, limits: { ...limits, idleTimeoutMs: limits.headersTimeoutMs } }
  }
}

function wireRequest(
  call: ImageCall,
  { shape = sizeInPixels, more = asBase64 }: ImageDialect,
): WireRequest {
  const { request, plan, target, count } = call
  const partials = partialsOf(call)
  const { quality, style, background, moderation, complexity, user } = plan
  const named = {
    // Servers that make one image per call may reject `n`.
    n: count === 1 ? undefined : count,
    output_format: plan.vendorFormat,
    output_compression: plan.vendorCompresses === true ? plan.compression : undefined,
    input_fidelity: plan.inputFidelity,
    safety_identifier: plan.safetyIdentifier,
    stream: partials === undefined ? undefined : true,
    partial_images: partials,
  }
  return {
    model: target.upstreamModel,
    prompt: request.prompt,
    ...shape(plan),
    ...prune({ quality, style, background, moderation, complexity, user, ...named }),
    ...seedOf(call),
    ...more(call),
  }
}

function sizeInPixels({ vendorPixels }: ImagePlan): { size?: string } {
  return vendorPixels === undefined ? {} : { size: pixelsText(vendorPixels) }
}

type Reading = {
  count: number
  tokensMax: TokensMax
  texts: VendorTexts
  readCost: ReadCost | undefined
  isRefused: ImageDialect['isRefused']
}
/** One picture of an answer, or the picture's URL, with the vendor's revised prompt. */
type Item = { picture: Picture | string; revisedPrompt: string | undefined }

function readImages(
  { json, texts: base64 }: SplicedJson,
  { count, texts, tokensMax, readCost, isRefused }: Reading,
): Omit<ImageResult, 'pictures'> & { items: Item[] } {
  // The answer is not validated: `receive` reports a wrong shape as `malformed`.
  const { data = [], usage, svg_usage: written, ...about } = (json ?? {}) as WireImages
  const counted = readUsage(usage, membersOf(written), { tokensMax, readCost })
  const failure = bodyFailure(json, { texts })
  if (failure !== undefined) throw countedFailure(failure, counted)
  const refused = isRefused === undefined ? 0 : data.filter(isRefused).length
  const fail = (kind: 'content_policy' | 'malformed', text: string, images: number) => {
    const failure = new ProviderFailure(kind, text)
    const isKnown = counted !== undefined || images > 0
    return isKnown ? afterSpending(failure, { ...(counted ?? noUsage), images }) : failure
  }
  if (refused > 0) {
    const text = 'The provider refused the picture as unsafe.'
    throw fail('content_policy', text, data.length - refused)
  }
  const items = data
    .slice(0, count)
    .map(({ b64_json: own, url, revised_prompt: revised }): Item => {
      const marks = [own, url].filter(isMark)
      const found = marks.map((mark) => readMade(base64[Number(mark.slice(1))] ?? []))
      // Some servers send base64 with an empty URL, or with one that they alone can reach.
      const address = typeof url === 'string' && !isMark(url) ? url : ''
      const picture = found.find(Boolean) ?? (address || undefined)
      if (picture === undefined)
        throw fail('malformed', 'The answer contains data that is not a picture.', data.length)
      return { picture, revisedPrompt: typeof revised === 'string' ? revised : undefined }
    })
  if (items.length === 0) throw fail('malformed', 'The answer contains no picture.', 0)
  return {
    items,
    ...prune({ usage: counted }),
    ...aboutOf(about, texts),
  }
}

function readUsage(
  usage: unknown,
  written: Readonly<Record<string, unknown>>,
  { tokensMax: most, readCost }: Pick<Reading, 'tokensMax' | 'readCost'>,
): Usage | undefined {
  if (!isMembers(usage)) return undefined
  const { input_tokens: input = 0, output_tokens: output } = usage
  const pictured = membersOf(usage['output_tokens_details'])['image_tokens']
  const counted =
    output === undefined
      ? undefined
      : usageOf(
          {
            input: [input, written['input_tokens']],
            output: [output, written['output_tokens']],
            imageInputTokens: membersOf(usage['input_tokens_details'])['image_tokens'],
            imageOutputTokens: pictured ?? output,
          },
          most,
        )
  const cost = readCost?.(usage)
  return counted === undefined ? cost && { ...noUsage, ...cost } : { ...counted, ...cost }
}
