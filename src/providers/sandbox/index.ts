import type { ChatAdapter, ChatRequest, PreparedChat } from '../../core/chat/chat.ts'
import type { Darkroom } from '../../core/image/darkroom.ts'
import type { ImageCall } from '../../core/image/image.ts'
import type { Target } from '../../core/model.ts'
import type { Provider } from '../../core/route.ts'
import { openAiCompatible } from '../openai-compatible/provider.ts'
import type { Coalescing } from '../transport/coalescing.ts'
import { noPictures, type UpstreamLimits } from '../transport/endpoint.ts'
import { pictureText } from '../wire/long-text.ts'
import { renderPicture } from './render.ts'
import { sandboxUpstream } from './upstream.ts'

type Options = {
  limits: UpstreamLimits
  coalescing: Coalescing
  darkroom: Darkroom
  /** How many providers to build: the most routes that a model may have. */
  routesMax: number
  checkChat: CheckChat
}

/** The problems and warnings of the vendor that the sandbox stands in for. */
export type CheckChat = (
  request: ChatRequest,
  target: Target,
) => Pick<PreparedChat, 'problems' | 'warnings'>

/**
 * The providers of test keys: a simulated vendor inside the process, behind the same adapters as a
 * real one. There is one a route, so that failover can be tested too.
 */
export function sandboxProviders({
  limits,
  coalescing,
  darkroom,
  routesMax,
  checkChat,
}: Options): Provider[] {
  const render: typeof renderPicture = (request) => darkroom(() => renderPicture(request))
  return Array.from({ length: routesMax }, (_, routeIndex) => {
    const provider = openAiCompatible({
      id: 'sandbox',
      dispatch: sandboxUpstream({ routeIndex, render }),
      redact: (text) => text,
      limits,
      coalescing,
      ...noPictures,
      imageFields,
      edits: 'generations',
    })
    const chat: ChatAdapter = {
      prepare: (request, target) => {
        const { problems, warnings } = checkChat(request, target)
        return { ...provider.chat!.prepare(request, undescribed(target)), problems, warnings }
      },
    }
    return { ...provider, chat, simulated: true }
  })
}

/** Prevents the catalog's adjustments: the sandbox accepts every field. */
function undescribed(target: Target): Target {
  return { ...target, model: { ...target.model, undescribed: true } }
}

/** Asks for the vendor's own format, so that test keys convert pictures as live keys do. */
function imageFields({ plan, target, request, index }: ImageCall): object {
  const native = target.model.row.image?.native_format ?? 'png'
  return {
    output_format: plan.vendorFormat ?? native,
    // Vendors pick a random seed themselves; pictures of one request must differ here too.
    seed: (plan.seed ?? 0) + index,
    ...(request.sources.length > 0 ? { sources: request.sources.map(pictureText) } : {}),
  }
}
