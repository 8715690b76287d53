import type { ChatAdapter, ChatRequest, PreparedChat } from '../../core/chat/chat.ts'
import type { EmbeddingAdapter } from '../../core/embedding/embedding.ts'
import type { Queue } from '../../bytes/queue.ts'
import type { ImagePlan } from '../../core/image/image.ts'
import { dropped, type Target, type Warning } from '../../core/model.ts'
import type { Prices } from '../../core/money/price.ts'
import { femtoUsd } from '../../core/money/pricing.ts'
import type { Provider } from '../../core/route.ts'
import {
  plainEmbeddings,
  type ImageDialect,
  type OpenAiEndpoint,
} from '../openai-compatible/dialect.ts'
import { moderationAdapter } from '../openai-compatible/moderation.ts'
import { openAiCompatible } from '../openai-compatible/vendor.ts'
import type { Coalescing } from '../transport/coalescing.ts'
import { noPictures, type UpstreamLimits } from '../transport/endpoint.ts'
import { ownTexts } from '../transport/vendor-texts.ts'
import { pictureText } from '../wire/long-text.ts'
import type { Render } from './pictures.ts'
import { playedRequest, type ThoughtsShown } from './chat.ts'
import { readScenarios } from './scenario.ts'
import { sandboxUpstream } from './upstream.ts'

type Options = {
  limits: UpstreamLimits
  coalescing: Coalescing
  pixelQueue: Queue
  /** The number of providers to build, which is the maximum number of routes of a model. */
  routesMax: number
  playChat: PlayChat
  clock: () => number
}

/** The result of the simulated vendor's adapter for a request. */
export type PlayChat = (
  request: ChatRequest,
  target: Target,
) => Pick<PreparedChat, 'problems' | 'warnings'> & { thoughtsShown: ThoughtsShown }

/** The providers of test keys. */
export type Sandbox = {
  /** The n-th provider simulates the n-th route of a model, so that failover can be tested. */
  routes: readonly Provider[]
  /** A second route for models with one route; used only by the scenario `first-route-fails`. */
  standby: Provider
}

/** Simulated vendors in the process, called through the adapter of OpenAI-compatible servers. */
export function createSandbox(options: Options): Sandbox {
  const routes = Array.from({ length: options.routesMax }, (_, index) => simulate(index, options))
  return { routes, standby: { ...simulate(1, options), skipsPrompt: isNotFailover } }
}

/** Whether a prompt skips the standby: without `first-route-fails`, a call has the live call's routes. */
function isNotFailover(prompt: string): boolean {
  const script = readScenarios(prompt, 'chat')
  return typeof script === 'string' || !script.has('first-route-fails')
}

/** Memory for each pixel: four bytes of the drawing and of the caption. */
const renderedBytes = 8

function simulate(
  routeIndex: number,
  { limits, coalescing, pixelQueue, playChat, clock }: Options,
): Provider {
  const render: Render = (request) => {
    const bytes = request.width * request.height * renderedBytes
    return pixelQueue.run(
      async () => {
        // Loads the renderer on first use, since live keys do not need it.
        const { renderPicture } = await import('./render.ts')
        return renderPicture(request)
      },
      { bytes },
    )
  }
  const endpoint: OpenAiEndpoint = {
    id: routeIndex === 0 ? 'sandbox' : `sandbox-${routeIndex + 1}`,
    dispatch: sandboxUpstream({ routeIndex, render, clock }),
    texts: ownTexts,
    limits,
    coalescing,
    ...noPictures,
    imageDialect,
    embeddingDialect: { ...plainEmbeddings, base64: true },
  }
  const { id, chat, image, embedding } = openAiCompatible(endpoint)
  const prepare: ChatAdapter['prepare'] = (request, target) => {
    const { problems, warnings, thoughtsShown } = playChat(request, target)
    const played = playedRequest(request, target, { warnings, thoughtsShown })
    const unsearched = request.web_search_options == null ? [] : [noSearch(request)]
    const prepared = chat!.prepare(played, undescribed(target))
    return { ...prepared, problems, warnings: [...warnings, ...unsearched] }
  }
  const embed: EmbeddingAdapter['embed'] = (call) => {
    const usual = call.target.model.row.embedding?.dimensions ?? dimensionsStandard
    return embedding!.embed({ ...call, dimensions: call.dimensions ?? usual })
  }
  return {
    id,
    chat: { prepare },
    image,
    embedding: { ...embedding!, embed },
    moderation: moderationAdapter(endpoint),
    simulated: true,
  }
}

/** The length of vectors of models that the catalog does not describe. */
const dimensionsStandard = 1024

function noSearch({ web_search_options: search }: ChatRequest): Warning {
  const reason = 'The sandbox does not search the web. Use a live key.'
  return dropped('web_search_options', search, reason)
}

/** A target without the catalog's adjustments, since `playChat` has applied the vendor's adjustments. */
function undescribed(target: Target): Target {
  return { ...target, model: { ...target.model, undescribed: true } }
}

const imageDialect: ImageDialect = {
  // Asks for the vendor's own format, so that test keys convert pictures as live keys do.
  more: ({ plan, target, index }) => ({
    output_format: plan.vendorFormat ?? target.model.row.image?.native_format ?? 'png',
    // Gives each picture of a request another seed, as the random seeds of real vendors do.
    seed: (plan.seed ?? 0) + index,
    tokens: tokensOfClass(target.model.prices, plan),
  }),
  edits: {
    path: '/images/generations',
    // A HEIC, whose size is unknown, cannot be drawn.
    inputs: (sources) => ({ sources: sources.filter(({ width }) => width > 0).map(pictureText) }),
  },
}

/** Output tokens of a picture, derived from the price of its size class; undefined without a price. */
function tokensOfClass({ perImage, tokens }: Prices, { sizeClass }: ImagePlan): number | undefined {
  const row = perImage.find((one) => sizeClass !== undefined && one.sizeClass === sizeClass)
  if (row === undefined || !tokens?.imageOutput) return undefined
  return Math.round(Number(femtoUsd(row.nanoUsd)) / Number(tokens.imageOutput))
}
