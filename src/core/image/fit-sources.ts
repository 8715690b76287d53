import { decodedLength } from '../../bytes/base64.ts'
import type { Hold } from '../../bytes/budget.ts'
import { piecesLength } from '../../bytes/pieces.ts'
import { memoryError } from '../error.ts'
import { ProviderFailure } from '../failure.ts'
import type { Warning } from '../model.ts'
import type { Route } from '../route.ts'
import type { ImageAdapter, ImageSource, ShrinkPicture } from './image.ts'

type Sources = readonly ImageSource[]

/** The most bytes that a vendor takes of each of these pictures. */
function bytesMaxOf({ sourceBytes = {} }: ImageAdapter, sources: Sources): number {
  const { eachMax = Infinity, allMax = Infinity } = sourceBytes
  const bytes = sources.reduce((sum, { base64 }) => sum + decodedLength(base64), 0)
  return bytes <= allMax ? eachMax : Math.min(eachMax, Math.floor(allMax / sources.length))
}

/** A warning for each input picture that is larger than the vendor takes. */
export function oversizeWarnings(sources: Sources, { provider }: Route): Warning[] {
  // `imageWork` has excluded the routes without an image adapter.
  const most = bytesMaxOf(provider.image!, sources)
  return sources.flatMap(({ base64, param }) => {
    const bytes = decodedLength(base64)
    if (bytes <= most) return []
    const reason = `'${provider.id}' takes at most ${most} bytes for this picture, so a smaller copy is sent.`
    return [{ param, requested: `${bytes} bytes`, applied: `at most ${most} bytes`, reason }]
  })
}

/**
 * Returns the input pictures for a vendor, with smaller copies of pictures that are larger than it takes; each
 * copy is made once for all calls. Rejects with a ProviderFailure, or a GatewayError if memory is short.
 */
export function createFitSources(sources: Sources, shrink: ShrinkPicture, hold: Hold) {
  const fitted = new Map<number, Promise<Sources>>()
  const fit = async (source: ImageSource, most: number): Promise<ImageSource> => {
    if (decodedLength(source.base64) <= most) return source
    const small = await shrink(source, Math.floor(most / 3) * 4)
    if (small === undefined) throw new ProviderFailure('too_large', 'A picture is too large.')
    const refusal = hold.takeMore(piecesLength(small.base64))
    if (refusal !== undefined) throw memoryError(refusal)
    return { ...source, ...small }
  }
  return (adapter: ImageAdapter): Sources | Promise<Sources> => {
    const most = bytesMaxOf(adapter, sources)
    if (sources.every(({ base64 }) => decodedLength(base64) <= most)) return sources
    const known = fitted.get(most)
    if (known !== undefined) return known
    const made = Promise.all(sources.map((source) => fit(source, most)))
    fitted.set(most, made)
    return made
  }
}
