import type { ChatAdapter, ChatRequest, PreparedChat } from '../../core/chat/chat.ts'
import type { Darkroom } from '../../core/image/picture.ts'
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
  darkroom: Darkroom
  /** How many providers to build: the most routes that a model may have. */
  routesMax: number
  playChat: PlayChat
  clock: () => number
}

/** What the vendor that the sandbox plays says about a request. */
export type PlayChat = (
  request: ChatRequest,
  target: Target,
) => Pick<PreparedChat, 'problems' | 'warnings'> & { thoughtsShown: ThoughtsShown }

/** The providers of test keys. */
export type Sandbox = {
  /** The n-th stands for a model's n-th route, so that failover can be tested. */
  routes: readonly Provider[]
  /** A second route of the models that have one, for the scenario `first-route-fails` alone. */
  standby: Provider
}

/** A simulated vendor inside the process, behind the same adapters as a real one. */
export function createSandbox(options: Options): Sandbox {
  const routes = Array.from({ length: options.routesMax }, (_, index) => simulate(index, options))
  return { routes, standby: { ...simulate(1, options), sitsOut: isNotFailover } }
}

/** Leaves other prompts to the model's own routes, as a live call would. */
function isNotFailover(prompt: string): boolean {
  const asked = readScenarios(prompt, 'chat')
  return typeof asked === 'string' || !asked.has('first-route-fails')
}

/** A picture is drawn, and then put under its caption. */
const layers = 2

function simulate(
  routeIndex: number,
  { limits, coalescing, darkroom, playChat, clock }: Options,
): Provider {
  const render: Render = (request) =>
    darkroom(request.width * request.height * layers, async () => {
      // Loaded with the first picture: live keys never need it.
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

/** Prevents the catalog's adjustments: the played vendor's have been applied. */
function undescribed(target: Target): Target {
  return { ...target, model: { ...target.model, undescribed: true } }
}

const imageDialect: ImageDialect = {
  // Asks for the vendor's own format, so that test keys convert pictures as live keys do.
  more: ({ plan, target, index }) => ({
    output_format: plan.vendorFormat ?? target.model.row.image?.native_format ?? 'png',
    // Vendors pick a random seed themselves; pictures of one request must differ here too.
    seed: (plan.seed ?? 0) + index,
    tokens: tokensOfClass(target.model.prices, plan),
  }),
  edits: {
    path: '/images/generations',
    inputs: (sources) => ({ sources: sources.map(pictureText) }),
  },
}

/** Output tokens of a picture of a size class, from its price; undefined where none is known. */
function tokensOfClass({ perImage, tokens }: Prices, { sizeClass }: ImagePlan): number | undefined {
  const row = perImage.find((one) => sizeClass !== undefined && one.sizeClass === sizeClass)
  if (row === undefined || !tokens?.imageOutput) return undefined
  return Math.round(Number(femtoUsd(row.nanoUsd)) / Number(tokens.imageOutput))
}
