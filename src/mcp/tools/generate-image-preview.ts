import type { Gateway } from '../../core/gateway.ts'
import type { ImageRequest } from '../../core/image/image.ts'
import { prune } from '../../core/prune.ts'
import { checkFileName, formatOf } from '../file-name.ts'
import type { ToolHandler } from '../tool.ts'
import type { Uploads } from '../uploads.ts'
import { shapeOfRatio } from './generate-image.ts'
import type { ShowPictures } from './results.ts'

type Options = {
  gateway: Gateway
  /** The upload folder; undefined if UPLOAD_DIR is not set. */
  uploads: Uploads | undefined
  show: ShowPictures
  clock: () => number
}

/** The tool `generate-image-preview`: generates a picture, and saves it if UPLOAD_DIR is set. */
export function generateImagePreview(options: Options): ToolHandler<'generate-image-preview'> {
  const { gateway, uploads, show, clock } = options
  return async ({ prompt, filename, aspect_ratio: ratio }, { context }) => {
    // Fail before the picture is paid for if it cannot be saved.
    if (filename !== undefined) checkFileName(filename)
    await uploads?.checkWritable()
    const name = filename ?? `image-preview-${clock()}.png`
    const outputFormat = uploads === undefined ? undefined : formatOf(name)
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
