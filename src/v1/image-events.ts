import type { components } from '../../generated/types.ts'
import type { Pieces } from '../bytes/pieces.ts'
import type { EventSink } from '../core/chat/chat.ts'
import type { AboutPictures, PartialPicture } from '../core/image/image.ts'
import { pixelsText } from '../core/image/size.ts'
import { tokenCounts } from './images-answer.ts'

type Schemas = components['schemas']
/** An event in pieces, without a line `id`. */
export type EventPieces = (string | Buffer)[]
type Shown = {
  base64: Pieces
  format: Schemas['ImageFormat']
  size: string
  revisedPrompt?: string | undefined
}
/** The members that only the last event of a stream has. */
type LastMembers = Partial<
  Pick<Schemas['ImageCompletedEvent'], 'usage' | 'warnings' | 'late_headers'>
>

/** Writes the events of streamed pictures in OpenAI's form; `createdAt` is in milliseconds. */
export function imageEvents(operation: Schemas['ImageJobOperation'], createdAt: number) {
  const kind = operation === 'edit' ? 'image_edit' : 'image_generation'
  const event = (name: string, { base64, ...shown }: Shown, members: object): EventPieces => {
    const type = `${kind}.${name}`
    const { size, format: output_format } = shown
    const created_at = Math.floor(createdAt / 1000)
    const rest = JSON.stringify({ type, ...members, created_at, size, output_format })
    return [`event: ${type}\ndata: ${rest.slice(0, -1)},"b64_json":"`, ...base64, '"}\n\n']
  }
  const aboutOf = ({ quality, background }: AboutPictures, { format }: Shown) => ({
    quality: quality ?? 'auto',
    background: background ?? (format === 'jpeg' ? 'opaque' : 'auto'),
  })
  return {
    partial: (partial: PartialPicture): EventPieces => {
      const { picture, imageIndex: image_index, partialIndex: partial_image_index } = partial
      const shown = { ...picture, size: pixelsText(picture) }
      const members = { partial_image_index, image_index, ...aboutOf(partial, shown) }
      return event('partial_image', shown, members)
    },
    /** `last` has the usage of all pictures; without it the usage is zero, so that the usages add up. */
    completed: (
      shown: Shown,
      image_index: number,
      about: AboutPictures,
      last: LastMembers = {},
    ): EventPieces => {
      const own = { image_index, ...aboutOf(about, shown), revised_prompt: shown.revisedPrompt }
      return event('completed', shown, { ...own, usage: tokenCounts(undefined), ...last })
    },
  }
}

/** Writes an event. Returns whether the client keeps up. */
export function writeEvent(sink: EventSink, pieces: EventPieces): boolean {
  let keepsUp = true
  for (const piece of pieces)
    keepsUp = sink.write(typeof piece === 'string' ? Buffer.from(piece) : piece)
  return keepsUp
}

/** The last event of streamed pictures that fail. */
export function imageErrorEvent(error: Schemas['ErrorBody'], more: object = {}): Buffer {
  const data = JSON.stringify({ type: 'error', error, ...more })
  return Buffer.from(`event: error\ndata: ${data}\n\n`)
}
