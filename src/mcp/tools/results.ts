import { piecesLength } from '../../bytes/pieces.ts'
import type { Answered } from '../../core/call.ts'
import type { CallContext } from '../../core/caller.ts'
import type { ImageResult, Picture, ShrinkPicture } from '../../core/image/image.ts'
import { mediaType } from '../../core/image/picture.ts'
import { pixelsText } from '../../core/image/size.ts'
import type { Catalog, Model } from '../../core/model.ts'
import { usdText } from '../../core/money/price.ts'
import type { Receipt } from '../../core/receipt.ts'
import type { ToolContent } from '../tool.ts'
import type { Uploads } from '../uploads.ts'
import { counted } from '../../core/words/counted.ts'

/** A receipt as text for the model that called the tool. */
export type ReceiptText = {
  /** The cost of a call, such as `for $0.04 (estimated)`. */
  cost(receipt: Receipt): string
  /** One line for each adjusted or ignored parameter, and for a deprecated model. */
  notes(receipt: Receipt): string[]
}

export function createReceiptText({ describe }: Pick<Catalog, 'describe'>): ReceiptText {
  return {
    cost: costText,
    notes: ({ warnings, model }) => {
      const end = lifecycleText(describe(model))
      return [
        ...warnings.map(({ param, reason }) => `Note on ${param}: ${reason}`),
        ...(end === undefined ? [] : [`Note on model: ${model.row.id} is ${end}.`]),
      ]
    },
  }
}

function costText({ cost, mode }: Receipt): string {
  if (cost.status === 'cached') return 'at no cost, from the cache (fresh: true makes another)'
  const amount = cost.nanoUsd === null ? 'at an unknown cost' : `for $${usdText(cost.nanoUsd)}`
  const estimated = cost.status === 'estimated' ? ' (estimated)' : ''
  return `${amount}${estimated}${mode === 'test' ? ' (test key: not charged)' : ''}`
}

/** The status of a model that is not active: `deprecated until 2026-12-11, then gpt-6`. */
export function lifecycleText({ row }: Model): string | undefined {
  const { status, deactivated_at: date, successor } = row
  if (status === 'active') return undefined
  const until = date === undefined || status === 'deactivated' ? '' : ` until ${date}`
  return `${status}${until}${successor === undefined ? '' : `, then ${successor}`}`
}

type Options = {
  receiptText: ReceiptText
  shrink: ShrinkPicture
  /** The limit for the base64 of a picture in a result, in bytes; 0 for no limit. */
  inlineBytesMax: number
  uploads: Uploads | undefined
  clock: () => number
}

/** A text block, then an image block for each picture (docs/behaviour.md#tool-server). */
export type ShowPictures = (
  answered: Answered<ImageResult>,
  context: CallContext,
  /** Sentences about pictures that are already saved. */
  saved?: readonly string[],
) => Promise<readonly ToolContent[]>

export function createShowPictures(options: Options): ShowPictures {
  const { receiptText, uploads } = options
  return async ({ result, receipt }, { caller }, saved) => {
    const { pictures, text } = result
    const kinds = new Set(pictures.map(kindText))
    const count = counted(pictures.length, 'picture')
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
  return { type: 'image', base64, mimeType: mediaType(format) }
}

type Inline = { picture: Picture | undefined; lines: string[] }

/** The picture for the result. A picture above the limit is shrunk, and saved in full for the account. */
async function inline(
  full: Picture,
  accountId: string | undefined,
  { shrink, inlineBytesMax: bytesMax, uploads, clock }: Options,
): Promise<Inline> {
  if (bytesMax === 0 || piecesLength(full.base64) <= bytesMax) return { picture: full, lines: [] }
  // The picture is paid for, so it is delivered unchanged if memory for shrinking is exhausted.
  const preview = await shrink(full, bytesMax).catch(() => full)
  if (preview === full) return { picture: full, lines: [] }
  const what =
    preview === undefined
      ? 'Not shown: the picture exceeds the size limit of this server.'
      : `Shown as a preview of ${kindText(preview)}: the picture exceeds the size limit of this server.`
  if (accountId === undefined) return { picture: preview, lines: [what] }
  const where =
    uploads === undefined
      ? 'It is not saved: this server has no upload folder (UPLOAD_DIR).'
      : await uploads.save(`image-${clock()}.${full.format}`, full, accountId)
  return { picture: preview, lines: [`${what} ${where}`] }
}
