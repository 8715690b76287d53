import { piecesLength } from '../../bytes/pieces.ts'
import type { Answered } from '../../core/call.ts'
import type { CallContext } from '../../core/caller.ts'
import type { ImageResult, Picture, ShrinkPicture } from '../../core/image/image.ts'
import { pixelsText } from '../../core/image/size.ts'
import type { ToolContent } from '../tool.ts'
import type { ReceiptText } from '../receipt-text.ts'
import type { Uploads } from '../uploads.ts'

type Options = {
  receiptText: ReceiptText
  shrink: ShrinkPicture
  /** The bytes of base64 that a picture may have in a result; 0 for no bound. */
  inlineBytesMax: number
  uploads: Uploads | undefined
  clock: () => number
}

/** A text block, then an image block for each picture (docs/behaviour.md#tool-server). */
export type ShowPictures = (
  answered: Answered<ImageResult>,
  context: CallContext,
  /** Where the pictures were saved already, in a sentence for the text. */
  saved?: readonly string[],
) => Promise<readonly ToolContent[]>

export function createShowPictures(options: Options): ShowPictures {
  const { receiptText, uploads } = options
  return async ({ result, receipt }, { caller }, saved) => {
    const { pictures, text } = result
    const kinds = new Set(pictures.map(kindText))
    const count = pictures.length === 1 ? '1 picture' : `${pictures.length} pictures`
    const model = receipt.model.row.id
    const isSaved = saved !== undefined && uploads !== undefined
    const shown = await Promise.all(
      pictures.map((one) => inline(one, isSaved ? undefined : caller.accountId, options)),
    )
    const lines = [
      ...(text === undefined || text === '' ? [] : [text]),
      `${count} by ${model}, ${[...kinds].join(' and ')}, ${receiptText.cost(receipt)}.`,
      ...receiptText.notes(receipt),
      ...(saved ?? []),
      ...shown.flatMap(({ lines: own }) => own),
    ]
    return [
      { type: 'text', text: lines.join('\n') },
      ...shown.flatMap(({ picture }) => (picture === undefined ? [] : blockOf(picture))),
    ]
  }
}

/** Size and format, such as `1024x1024 PNG`. */
function kindText(picture: Picture): string {
  return `${pixelsText(picture)} ${picture.format.toUpperCase()}`
}

function blockOf({ base64, format }: Picture): ToolContent {
  return { type: 'image', base64, mimeType: `image/${format}` }
}

type Inline = { picture: Picture | undefined; lines: string[] }

/**
 * A picture as the result shows it: smaller where it is over the bound, and then saved in full for an
 * account.
 */
async function inline(
  full: Picture,
  accountId: string | undefined,
  { shrink, inlineBytesMax: bytesMax, uploads, clock }: Options,
): Promise<Inline> {
  if (bytesMax === 0 || piecesLength(full.base64) <= bytesMax) return { picture: full, lines: [] }
  // It is paid for: where there is no room to make it smaller, it is delivered as it is.
  const preview = await shrink(full, bytesMax).catch(() => full)
  if (preview === full) return { picture: full, lines: [] }
  const what =
    preview === undefined
      ? 'Not shown: it is larger than this server shows.'
      : `Shown as a preview of ${kindText(preview)}: the picture is larger than this server shows.`
  if (accountId === undefined) return { picture: preview, lines: [what] }
  const where =
    uploads === undefined
      ? 'It is not kept: this server has no upload folder (UPLOAD_DIR).'
      : await uploads.save(`image-${clock()}.${full.format}`, full, accountId)
  return { picture: preview, lines: [`${what} ${where}`] }
}
