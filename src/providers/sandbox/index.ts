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
  /** As many as a model may have routes. */
  routesMax: number
  checkChat: CheckChat
}

/** What the vendor that the sandbox stands for cannot do, or does otherwise than asked. */
export type CheckChat = (
  request: ChatRequest,
  target: Target,
) => Pick<PreparedChat, 'problems' | 'warnings'>

/**
 * The provider of test keys: a vendor inside the process, behind the same wire as the real ones. One
 * a route, so that failing over can be tried too.
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

/** The sandbox itself takes everything. */
function undescribed(target: Target): Target {
  return { ...target, model: { ...target.model, undescribed: true } }
}

/** The vendor's own format, so that what is converted live is converted in a test too. */
function imageFields({ plan, target, request, index }: ImageCall): object {
  const native = target.model.row.image?.native_format ?? 'png'
  return {
    output_format: plan.vendorFormat ?? native,
    // Vendors choose a seed by themselves; two pictures of one request must differ here too.
    seed: (plan.seed ?? 0) + index,
    ...(request.sources.length > 0 ? { sources: request.sources.map(pictureText) } : {}),
  }
}
