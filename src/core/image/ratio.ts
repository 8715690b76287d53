import type { Model } from '../model.ts'
import type { AskedImage } from './image.ts'

/** The pixels of a picture whose shape alone is asked for. */
const pixelsWanted = 1024 * 1024
/** What vendors want sides to be a multiple of, where they make any size. */
const sideMultiple = 16

/**
 * A ratio of width to height, such as `16:9`, as a model is asked for it: as it is where the model
 * knows ratios, else as a size in pixels. A model that is not known yet is asked for pixels.
 */
export function shapeOfRatio(
  ratio: string,
  model: Model | undefined,
): Pick<AskedImage, 'aspectRatio' | 'size'> {
  if (model?.row.image?.size.kind === 'classes') return { aspectRatio: ratio }
  const [across = 1, down = 1] = ratio.split(':').map(Number)
  const isWhole = Number.isInteger(across) && Number.isInteger(down)
  const factor = Math.sqrt(pixelsWanted / (across * down))
  // A multiple of both terms has exactly their ratio.
  const exact = Math.round(factor / sideMultiple) * sideMultiple
  const side = (term: number) =>
    isWhole && exact > 0
      ? term * exact
      : Math.max(1, Math.round((term * factor) / sideMultiple)) * sideMultiple
  return { size: `${side(across)}x${side(down)}` }
}
