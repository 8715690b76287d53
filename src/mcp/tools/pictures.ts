import type { Answered } from '../../core/call.ts'
import type { ImageResult } from '../../core/image/image.ts'
import { pixelsText } from '../../core/image/size.ts'
import type { ToolContent } from '../content.ts'
import { costText, warningLines } from '../receipt-text.ts'

/** A text block, then an image block for each picture (docs/behaviour.md#tool-server). */
export function pictureContent(
  { result, receipt }: Answered<ImageResult>,
  moreLines: readonly string[] = [],
): ToolContent[] {
  const { pictures, text } = result
  const kinds = new Set(pictures.map((one) => `${pixelsText(one)} ${one.format.toUpperCase()}`))
  const count = pictures.length === 1 ? '1 picture' : `${pictures.length} pictures`
  const model = receipt.model.row.id
  const lines = [
    ...(text === undefined || text === '' ? [] : [text]),
    `${count} by ${model}, ${[...kinds].join(' and ')}, ${costText(receipt)}.`,
    ...warningLines(receipt),
    ...moreLines,
  ]
  return [
    { type: 'text', text: lines.join('\n') },
    ...pictures.map(({ base64, format }) => ({
      type: 'image' as const,
      base64,
      mimeType: `image/${format}`,
    })),
  ]
}
