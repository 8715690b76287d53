import { toolDefaults } from '../../../generated/tools.ts'
import type { Gateway } from '../../core/gateway.ts'
import type { ImageRequest, ImageWatch } from '../../core/image/image.ts'
import { prune } from '../../core/prune.ts'
import type { ImageInputs } from '../../core/image/work.ts'
import { dropped, type Model, type Warning } from '../../core/model.ts'
import { checkFileName, formatOf } from '../file-name.ts'
import type { ReportProgress, ToolHandler } from '../tool.ts'
import type { Uploads } from '../uploads.ts'
import { addressOf, type OpenPicture } from './input-pictures.ts'
import type { ShowPictures } from './results.ts'

type PictureOptions = {
  gateway: Gateway
  /** The model for calls without input pictures. */
  defaultImageModel: string
  open: OpenPicture
  show: ShowPictures
}
type Input = Parameters<ToolHandler<'generate-image'>>[0]

/** The tool `generate-image`: generates one to four pictures from a prompt and optional input pictures. */
export function generateImage(options: PictureOptions): ToolHandler<'generate-image'> {
  const { gateway, defaultImageModel, open, show } = options
  return async (input, { context, report }) => {
    const { prompt, n, images = [], quality, seed, output_format: outputFormat } = input
    // The default model of this tool may not edit pictures; `auto` does.
    const model = input.model ?? (images.length > 0 ? 'auto' : defaultImageModel)
    const found = gateway.find(model, context.caller)
    const { shape, warnings } = shapeOf(input, found.model)
    const settings = prune({ quality, seed, outputFormat })
    const request: ImageRequest = { model, prompt, n, ...shape, ...settings }
    const named = images.map((one, index) => addressOf(one, `images[${index}]`))
    const addresses = await Promise.all(named.map((one) => open(one, context)))
    const isByRatio = input.size === undefined && input.aspect_ratio !== undefined
    const watch = picturesReported(n, report)
    const inputs: ImageInputs = { request, models: [found], addresses, warnings, watch }
    if (isByRatio) inputs.nameOf = ratioName
    return show(await gateway.image(inputs, context), context)
  }
}

/** Reports how many of several pictures are finished. */
function picturesReported(n: number, report: ReportProgress): ImageWatch {
  let finished = 0
  return { partialImages: 0, finished: () => report(`${++finished} of ${n} pictures`) }
}

/** Errors name `aspect_ratio`, the caller's parameter, from which the gateway derives `size`. */
function ratioName(param: string): string {
  return param === 'size' ? 'aspect_ratio' : param
}

type Shape = { shape: Pick<ImageRequest, 'size' | 'aspectRatio'>; warnings: Warning[] }

function shapeOf({ size, aspect_ratio: ratio, images }: Input, model: Model | undefined): Shape {
  if (ratio !== undefined && (size === undefined || size === 'auto')) {
    return { shape: shapeOfRatio(ratio, model), warnings: [] }
  }
  if (size !== undefined) {
    const warning = dropped('aspect_ratio', ratio, `The size ${size} decides the shape.`)
    return { shape: { size }, warnings: ratio === undefined ? [] : [warning] }
  }
  // An edit has no default size, since the model decides the shape of an edited picture.
  return {
    shape: images === undefined ? { size: toolDefaults['generate-image'].size } : {},
    warnings: [],
  }
}

/** The number of pixels when only an aspect ratio is requested. */
const pixelsWanted = 1024 * 1024
/** Vendors with free sizes require sides that are a multiple of this. */
const sideMultiple = 16

/**
 * Converts an aspect ratio such as `16:9` for a model: unchanged when the model takes ratios, else to a
 * size in pixels, also when the model is unknown.
 */
function shapeOfRatio(
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

type PreviewOptions = {
  gateway: Gateway
  /** The upload folder; undefined if UPLOAD_DIR is not set. */
  uploads: Uploads | undefined
  show: ShowPictures
  clock: () => number
}

/** The tool `generate-image-preview`: generates a picture, and saves it if UPLOAD_DIR is set. */
export function generateImagePreview(
  options: PreviewOptions,
): ToolHandler<'generate-image-preview'> {
  const { gateway, uploads, show, clock } = options
  return async ({ prompt, filename, aspect_ratio: ratio }, { context }) => {
    // Fail before the picture is paid for if it cannot be saved.
    if (filename !== undefined) checkFileName(filename)
    await uploads?.checkWritable()
    const name = filename ?? `image-preview-${clock()}.png`
    const named = uploads === undefined ? undefined : formatOf(name)
    // The name of a vector picture does not make one.
    const outputFormat = named === 'svg' ? undefined : named
    const found = gateway.find('auto', context.caller)
    const shape = ratio === undefined ? {} : shapeOfRatio(ratio, found.model)
    const settings = { ...prune({ outputFormat }), ...shape }
    const request: ImageRequest = { model: found.name, prompt, n: 1, ...settings }
    const answered = await gateway.image({ request, models: [found] }, context)
    if (uploads === undefined) return show(answered, context, unsaved(filename))
    const lines: string[] = []
    for (const picture of answered.result.pictures) {
      lines.push(await uploads.save(name, picture, context.caller.accountId))
    }
    return show(answered, context, lines)
  }
}

/** Reports a missing folder to a caller that named a file. */
function unsaved(filename: string | undefined): string[] {
  return filename === undefined ? [] : ['Not saved: this server has no upload folder (UPLOAD_DIR).']
}
