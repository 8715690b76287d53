import type { ChatAdapter, ChatRequest, PreparedChat } from '../../core/chat/chat.ts'
import type { PixelQueue } from '../../core/image/picture.ts'
import type { ImagePlan } from '../../core/image/image.ts'
import type { Target } from '../../core/model.ts'
import type { Prices } from '../../core/money/price.ts'
import { femtoUsd } from '../../core/money/pricing.ts'
import type { Provider } from '../../core/route.ts'
import type { ImageDialect } from '../openai-compatible/dialect.ts'
import { openAiCompatible } from '../openai-compatible/vendor.ts'
import type { Coalescing } from '../transport/coalescing.ts'
import { noPictures, type UpstreamLimits } from '../transport/endpoint.ts'
import { ownTexts } from '../transport/vendor-texts.ts'
import { pictureText } from '../wire/long-text.ts'
import type { Render } from './pictures.ts'
import { playedRequest, type ThoughtsShown } from './played.ts'
import { readScenarios } from './scenario.ts'
import { sandboxUpstream } from './upstream.ts'

type Options = {
  limits: UpstreamLimits
  coalescing: Coalescing
  pixelQueue: PixelQueue
  /** How many providers to build: the most routes that a model may have. */
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
  /** The n-th simulates a model's n-th route, so that failover can be tested. */
  routes: readonly Provider[]
  /** A second route for models with one route; used only by the scenario `first-route-fails`. */
  standby: Provider
}

/** A simulated vendor in the process, used through the adapters of a real one. */
export function createSandbox(options: Options): Sandbox {
  const routes = Array.from({ length: options.routesMax }, (_, index) => simulate(index, options))
  return { routes, standby: { ...simulate(1, options), skipsPrompt: isNotFailover } }
}

/** Other prompts use the model's own routes only, like a live call. */
function isNotFailover(prompt: string): boolean {
  const asked = readScenarios(prompt, 'chat')
  return typeof asked === 'string' || !asked.has('first-route-fails')
}

/** A picture is rendered once for the drawing and once for the caption. */
const layers = 2

function simulate(
  routeIndex: number,
  { limits, coalescing, pixelQueue, playChat, clock }: Options,
): Provider {
  const render: Render = (request) =>
    pixelQueue(request.width * request.height * layers, async () => {
      // Loaded on first use, since live keys do not need it.
      const { renderPicture } = await import('./render.ts')
      return renderPicture(request)
    })
  const { id, chat, image } = openAiCompatible({
    id: routeIndex === 0 ? 'sandbox' : `sandbox-${routeIndex + 1}`,
    dispatch: sandboxUpstream({ routeIndex, render, clock }),
    texts: ownTexts,
    limits,
    coalescing,
    ...noPictures,
    imageDialect,
  })
  const prepare: ChatAdapter['prepare'] = (request, target) => {
    const { problems, warnings, thoughtsShown } = playChat(request, target)
    const asked = playedRequest(request, target, { warnings, thoughtsShown })
    return { ...chat!.prepare(asked, undescribed(target)), problems, warnings }
  }
  return { id, chat: { prepare }, image, simulated: true }
}

/** Skips the catalog's adjustments, since those of the simulated vendor were applied. */
function undescribed(target: Target): Target {
  return { ...target, model: { ...target.model, undescribed: true } }
}

const imageDialect: ImageDialect = {
  // Asks for the vendor's own format, so that test keys convert pictures as live keys do.
  more: ({ plan, target, index }) => ({
    output_format: plan.vendorFormat ?? target.model.row.image?.native_format ?? 'png',
    // Vendors pick a random seed per picture, so the pictures of one request must differ here too.
    seed: (plan.seed ?? 0) + index,
    tokens: tokensOfClass(target.model.prices, plan),
  }),
  edits: {
    path: '/images/generations',
    inputs: (sources) => ({ sources: sources.map(pictureText) }),
  },
}

/** Output tokens of a picture of a size class, derived from its price; undefined without one. */
function tokensOfClass({ perImage, tokens }: Prices, { sizeClass }: ImagePlan): number | undefined {
  const row = perImage.find((one) => sizeClass !== undefined && one.sizeClass === sizeClass)
  if (row === undefined || !tokens?.imageOutput) return undefined
  return Math.round(Number(femtoUsd(row.nanoUsd)) / Number(tokens.imageOutput))
}
