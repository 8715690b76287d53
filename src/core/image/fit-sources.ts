import { decodedLength } from '../../bytes/base64.ts'
import type { MemoryHold } from '../../bytes/memory-budget.ts'
import { piecesLength, type Pieces } from '../../bytes/pieces.ts'
import { assertTaken } from '../error.ts'
import { ProviderFailure } from '../failure.ts'
import type { Model, Warning } from '../model.ts'
import type { ImageSource, ShrinkPicture } from './image.ts'

type Sources = readonly ImageSource[]
/** A picture as canonical base64. */
type Sized = { base64: Pieces | string; param: string }

function bytesOf({ base64 }: Sized): number {
  return typeof base64 === 'string' ? Buffer.byteLength(base64, 'base64') : decodedLength(base64)
}

/** The most bytes that the vendor of a model takes of each of these pictures. */
function bytesMaxOf({ row }: Model, sources: readonly Sized[]): number {
  const { input_image_bytes_max: each = Infinity, input_images_bytes_max: all = Infinity } = row
  const bytes = sources.reduce((sum, source) => sum + bytesOf(source), 0)
  return bytes <= all ? each : Math.min(each, Math.floor(all / sources.length))
}

/** A warning for each input picture that is larger than the vendor takes. */
export function oversizeWarnings(sources: readonly Sized[], model: Model): Warning[] {
  if (sources.length === 0) return []
  const most = bytesMaxOf(model, sources)
  return sources.flatMap((source) => {
    const { param } = source
    const bytes = bytesOf(source)
    if (bytes <= most) return []
    const reason = `${model.row.id} takes at most ${most} bytes for this picture, so a smaller copy is sent.`
    return [{ param, requested: `${bytes} bytes`, applied: `at most ${most} bytes`, reason }]
  })
}

/**
 * The input pictures for a model, with smaller copies of pictures that are larger than its vendor takes. Rejects
 * with a ProviderFailure, or a GatewayError if memory is short.
 */
export async function fitSources(
  sources: Sources,
  model: Model,
  { shrink, memory }: { shrink: ShrinkPicture; memory: MemoryHold },
): Promise<Sources> {
  if (sources.length === 0) return sources
  const most = bytesMaxOf(model, sources)
  const fit = async (source: ImageSource): Promise<ImageSource> => {
    const { format } = source
    const isFit = bytesOf(source) <= most || format === 'heic' || format === 'heif'
    if (isFit) return source
    const small = await shrink({ ...source, format }, Math.floor(most / 3) * 4)
    if (small === undefined) throw new ProviderFailure('too_large', 'A picture is too large.')
    assertTaken(memory.takeMore(piecesLength(small.base64)))
    return { ...source, ...small }
  }
  return Promise.all(sources.map(fit))
}
