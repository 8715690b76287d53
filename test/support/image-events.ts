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
