import type { Fingerprint } from '../recall/fingerprint.ts'
import type { Work } from '../work.ts'
import type { ImageRequest, ImageResult } from './image.ts'
import { prepareImage, runImage, type ImageParts } from './run.ts'

/** Pictures. */
export function imageWork(
  request: ImageRequest,
  timeoutMs: number,
  parts: ImageParts & { fingerprint: Fingerprint },
): Work<ImageResult> {
  return {
    modality: 'image',
    models: [request.model],
    canonical: () => ({
      ...request,
      sources: request.sources.map(({ base64 }) => parts.fingerprint(base64)),
    }),
    timeoutMs,
    prepare: (routes) => {
      const { plan, ...prepared } = prepareImage(request, routes)
      return {
        ...prepared,
        run: (call, able) => runImage({ parts, request, plan, call, routes: able }),
      }
    },
    // The pictures are outside of the heap already.
    pack: (result) => result,
    unpack: (packed) => packed as ImageResult,
  }
}
