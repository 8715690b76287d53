import { readEvents } from './event-stream.ts'
import type { WarningBody } from './image-vendors.ts'

/** The members of the events of streamed pictures that the tests read. */
export type ImageEvent = {
  type: string
  b64_json: string
  partial_image_index?: number
  image_index: number
  size: string
  quality: string
  output_format: string
  usage?: { input_tokens: number; output_tokens: number; total_tokens: number; cost?: number }
  warnings?: WarningBody[]
  late_headers?: Record<string, string>
  error?: { code: string; message: string; param: string | null }
}

/** The events of a whole stream of pictures, without comments. */
export function imageEventsIn(text: string): ImageEvent[] {
  return readEvents(text).flatMap(({ data }) =>
    data === undefined ? [] : [JSON.parse(data) as ImageEvent],
  )
}

/** What each event is, such as `partial 0/1` (of picture 0, index 1), `completed 0`, `error`. */
export function namesOf(events: readonly ImageEvent[]): string[] {
  return events.map(({ type, image_index: place, partial_image_index: index }) => {
    if (type === 'error') return type
    return type.endsWith('.completed') ? `completed ${place}` : `partial ${place}/${index}`
  })
}

/** Pieces of a vendor's stream, of which each call of `go` sends one more. */
export function gatedPieces(pieces: readonly string[]) {
  const gates = pieces.map(() => Promise.withResolvers<void>())
  let opened = 0
  const gated = async function* () {
    for (const [index, piece] of pieces.entries()) {
      await gates[index]!.promise
      yield piece
    }
  }
  return { pieces: gated(), go: () => gates[opened++]?.resolve() }
}
