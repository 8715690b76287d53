import type { Model } from '../model.ts'
import type { ImageRequest } from './image.ts'

/** The number of pixels when only an aspect ratio is requested. */
const pixelsWanted = 1024 * 1024
/** Vendors with free sizes require sides that are a multiple of this. */
const sideMultiple = 16

/**
 * Converts an aspect ratio such as `16:9` for a model: unchanged when the model takes ratios, else to a
 * size in pixels, also when the model is unknown.
 */
export function shapeOfRatio(
  ratio: string,
  model: Model | undefined,
): Pick<ImageRequest, 'aspectRatio' | 'size'> {
  if (model?.row.image?.size.kind === 'classes') return { aspectRatio: ratio }
  const [across = 1, down = 1] = ratio.split(':').map(Number)
  const isWhole = Number.isInteger(across) && Number.isInteger(down)
  const factor = Math.sqrt(pixelsWanted / (across * down))
  // Sides that are the same multiple of the two terms have exactly the requested ratio.
  const exact = Math.round(factor / sideMultiple) * sideMultiple
  const side = (term: number) =>
    isWhole && exact > 0
      ? term * exact
      : Math.max(1, Math.round((term * factor) / sideMultiple)) * sideMultiple
  return { size: `${side(across)}x${side(down)}` }
}
