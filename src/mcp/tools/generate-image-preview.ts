import type { Gateway } from '../../core/gateway.ts'
import type { AskedImage } from '../../core/image/image.ts'
import type { Model } from '../../core/model.ts'
import type { RouteTable } from '../../core/route.ts'
import { checkFileName, formatOf } from '../file-name.ts'
import type { ToolHandler } from '../tool.ts'
import type { UploadFolder } from '../upload-folder.ts'
import { pictureContent } from './pictures.ts'

type Options = {
  gateway: Gateway
  routes: Pick<RouteTable, 'peek'>
  /** Where pictures are saved; undefined when UPLOAD_DIR is not set. */
  uploads: UploadFolder | undefined
  clock: () => number
}
type AspectRatio = NonNullable<Parameters<ToolHandler<'generate-image-preview'>>[0]['aspect_ratio']>

/** The tool `generate-image-preview`: one picture, also saved if there is an upload folder. */
export function generateImagePreview(options: Options): ToolHandler<'generate-image-preview'> {
  const { gateway, routes, uploads, clock } = options
  return async ({ prompt, filename, aspect_ratio: ratio }, { context }) => {
    // A call whose picture could not be saved must fail before the picture is paid for.
    if (filename !== undefined) checkFileName(filename)
    await uploads?.checkWritable()
    const name = filename ?? `image-preview-${clock()}.png`
    // Without a name the vendor's bytes are saved as they are, and their extension is corrected.
    const isNamed = uploads !== undefined && filename !== undefined
    const outputFormat = isNamed ? formatOf(filename) : undefined
    const request: AskedImage = {
      model: 'auto',
      prompt,
      n: 1,
      ...(outputFormat === undefined ? {} : { outputFormat }),
    }
    const model = routes.peek(request.model, context.caller)
    const shape = ratio === undefined || model === undefined ? {} : shapeFor(model, ratio)
    const answered = await gateway.image({ ...request, ...shape }, context)
    const lines = await saved(uploads, name, answered.result.pictures[0]!, filename !== undefined)
    return pictureContent(answered, lines)
  }
}

async function saved(
  uploads: UploadFolder | undefined,
  name: string,
  picture: Parameters<UploadFolder['save']>[1],
  isAsked: boolean,
): Promise<string[]> {
  if (uploads !== undefined) return [await uploads.save(name, picture)]
  return isAsked ? ['Not saved: this server has no upload folder (UPLOAD_DIR).'] : []
}

const sizes: Record<AspectRatio, string> = {
  '1:1': '1024x1024',
  '16:9': '1280x720',
  '4:3': '1152x864',
  '5:4': '1280x1024',
}

/** An aspect ratio for models with size classes; for others a size in pixels of that ratio. */
function shapeFor({ row }: Model, ratio: AspectRatio): Pick<AskedImage, 'aspectRatio' | 'size'> {
  return row.image?.size.kind === 'classes' ? { aspectRatio: ratio } : { size: sizes[ratio] }
}
