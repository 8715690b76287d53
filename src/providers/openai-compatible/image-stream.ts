import { membersOf } from '../../core/any-json.ts'
import { ProviderFailure } from '../../core/failure.ts'
import type { AboutPictures, ImageCall } from '../../core/image/image.ts'
import { readPicture } from '../../core/image/picture.ts'
import { prune } from '../../core/prune.ts'
import type { PieceReader } from '../transport/upstream.ts'
import type { VendorTexts } from '../transport/vendor-texts.ts'
import type { SplicedJson } from '../wire/base64-reader.ts'
import { pictureEvents } from '../wire/picture-events.ts'
import { bodyFailure, eventFailure } from './failure.ts'

/** The partial images to request; undefined for an answer in one piece. */
export function partialsOf({ plan, onPartial }: ImageCall): number | undefined {
  return onPartial === undefined ? undefined : plan.partialImages
}

/**
 * Reads a stream of partial images, of which as many as planned are passed on, and of the finished picture, whose event
 * `read` gets as an answer with one picture.
 */
export function streamReader<T>(
  { plan: { partialImages = 0 }, index: imageIndex, onPartial }: ImageCall,
  texts: VendorTexts,
  read: (completed: SplicedJson) => T,
): PieceReader<T> {
  let completed: SplicedJson | undefined
  let partialIndex = 0
  const { push, releasedBytes } = pictureEvents('b64_json', ({ json, texts: base64, name }) => {
    const failure = name === 'error' ? eventFailure(json, { texts }) : bodyFailure(json, { texts })
    if (failure !== undefined) throw failure
    const event = membersOf(json)
    const { type, b64_json: mark } = event
    if (endsWith(type, '.completed') && completed === undefined) {
      completed = { json: { ...event, data: [event] }, texts: base64 }
      return true
    }
    const isWanted = endsWith(type, '.partial_image') && partialIndex < partialImages
    if (!isWanted || completed !== undefined || !isMark(mark)) return false
    const picture = readPicture(base64[Number(mark.slice(1))] ?? [])
    // A broken partial image is left out, since the picture itself may be whole.
    if (picture === undefined) return false
    onPartial?.({ ...aboutOf(event, texts), picture, imageIndex, partialIndex })
    partialIndex += 1
    return false
  })
  return {
    push,
    releasedBytes,
    isOver: () => completed !== undefined,
    finish: () => {
      if (completed !== undefined) return read(completed)
      // The vendor may have made the picture.
      const text = 'The provider ended the stream before the picture.'
      throw new ProviderFailure('unreachable', text, { wasSent: true })
    },
  }
}

function endsWith(type: unknown, ending: string): boolean {
  return typeof type === 'string' && type.endsWith(ending)
}

/** Whether a member refers to a text that the reader has cut out. */
export function isMark(text: unknown): text is string {
  return typeof text === 'string' && text.startsWith('@')
}

const qualityCharactersMax = 40

/** The settings that an answer or an event reports. */
export function aboutOf(
  { quality, background }: { quality?: unknown; background?: unknown },
  texts: VendorTexts,
): AboutPictures {
  return {
    ...prune({ quality: texts.name(quality, qualityCharactersMax) }),
    ...(background === 'transparent' || background === 'opaque' ? { background } : {}),
  }
}
