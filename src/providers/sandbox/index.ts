import { bulkhead } from 'cockatiel'
import type { ImageCall } from '../../core/image.ts'
import type { Provider } from '../../core/route.ts'
import { openAiCompatible } from '../openai-compatible/index.ts'
import type { UpstreamLimits } from '../endpoint.ts'
import { renderPicture } from './render.ts'
import { sandboxUpstream } from './upstream.ts'

type Options = {
  limits: UpstreamLimits & { rendersConcurrentMax: number; rendersQueuedMax: number }
  /** As many as a model may have routes. */
  routesMax: number
}

/**
 * The provider of test keys: a vendor inside the process, behind the same wire as the real ones. One
 * a route, so that failing over can be tried too.
 */
export function sandboxProviders({ limits, routesMax }: Options): Provider[] {
  // Rendering is the only work here that takes a core for long.
  const policy = bulkhead(limits.rendersConcurrentMax, limits.rendersQueuedMax)
  const render: typeof renderPicture = (request) => policy.execute(() => renderPicture(request))
  return Array.from({ length: routesMax }, (_, routeIndex) =>
    openAiCompatible({
      id: 'sandbox',
      dispatch: sandboxUpstream({ routeIndex, render }),
      keys: [],
      limits,
      fetchPicture,
      imageFields,
      edits: 'generations',
    }),
  )
}

/** The sandbox answers with pictures, never with addresses. */
function fetchPicture(): Promise<never> {
  throw new Error('The sandbox has no addresses.')
}

/** The vendor's own format, so that what is converted live is converted in a test too. */
function imageFields({ plan, route, request, index }: ImageCall): object {
  const native = route.model.row.image?.native_format ?? 'png'
  return {
    output_format: plan.vendorFormat ?? native,
    // Vendors choose a seed by themselves; two pictures of one request must differ here too.
    seed: (plan.seed ?? 0) + index,
    ...(request.sources.length > 0 ? { sources: request.sources.map(({ base64 }) => base64) } : {}),
  }
}
