/**
 * What the events of a stream have in common: the bytes around their texts. An event of a known form is not
 * parsed, since one was that differs in nothing but those texts.
 */
export type EventForm = {
  /** As the vendor writes it: before the first text, between two, behind the last. */
  from: readonly Part[]
  /** As it is passed on; undefined when nothing changes. */
  to: readonly Buffer[] | undefined
}

/** Bytes, of which four are compared at once. */
type Part = { length: number; words: Uint32Array; rest: Buffer }

/** Events that arrived together; `view` is of the same bytes. */
type ArrivedEvents = { bytes: Buffer; view: DataView }

/** Members whose texts differ from event to event; the last two pad events against eavesdroppers. */
const textMembers = new Set([
  'content',
  'reasoning_content',
  'reasoning',
  'arguments',
  'obfuscation',
  'p',
])
const strings = /"((?:[^"\\]|\\.)*)"\s*(:)?/gs
/** Longer ones are not worth keeping. */
const formBytesMax = 2048
/** To parse a longer one costs less than to compare it with each form. */
const textBytesMax = 16_384
const wordBytes = 4
const quote = 0x22
const backslash = 0x5c
const space = 0x20

/**
 * The form of an event, and of what is passed on instead of it. Undefined when it has no text, or another one
 * behind than before.
 */
export function formOf(event: Buffer, passedOn: Buffer): EventForm | undefined {
  if (event.length > formBytesMax) return undefined
  const from = split(event)
  if (!from.texts.some(Boolean)) return undefined
  const to = event === passedOn ? undefined : split(passedOn)
  if (to !== undefined && !areEqual(from.texts, to.texts)) return undefined
  return { from: from.parts.map(partOf), to: to?.parts }
}

export function arrivedEvents(bytes: Buffer): ArrivedEvents {
  return { bytes, view: new DataView(bytes.buffer, bytes.byteOffset, bytes.length) }
}

/** Where the event ends that begins at `start`, if it has this form; else -1. */
export function endOfForm(events: ArrivedEvents, start: number, { from }: EventForm): number {
  let at = start
  for (let place = 0; place < from.length; place++) {
    if (place > 0) at = endOfText(events.bytes, at)
    const part = from[place]!
    if (at < 0 || !isAt(events, at, part)) return -1
    at += part.length
  }
  return at
}

/** What is passed on instead of the event of this form that begins at `start`. */
export function rewritten(bytes: Buffer, start: number, { from, to = [] }: EventForm): Buffer[] {
  let at = start
  return from.flatMap((part, place) => {
    const text = place === 0 ? [] : [bytes.subarray(at, endOfText(bytes, at))]
    at += (text[0]?.length ?? 0) + part.length
    return [...text, to[place]!]
  })
}

function isAt({ bytes, view }: ArrivedEvents, at: number, { length, words, rest }: Part): boolean {
  if (at + length > bytes.length) return false
  for (let index = 0; index < words.length; index++) {
    if (view.getUint32(at + index * wordBytes, true) !== words[index]) return false
  }
  const restAt = at + words.length * wordBytes
  for (let index = 0; index < rest.length; index++) {
    if (bytes[restAt + index] !== rest[index]) return false
  }
  return true
}

function partOf(bytes: Buffer): Part {
  const words = Uint32Array.from({ length: Math.floor(bytes.length / wordBytes) }, (_, index) =>
    bytes.readUInt32LE(index * wordBytes),
  )
  return { length: bytes.length, words, rest: bytes.subarray(words.length * wordBytes) }
}

/** Where a text ends, before its quote; -1 when it has no end, what no JSON text has, or is long. */
function endOfText(bytes: Buffer, start: number): number {
  const most = Math.min(bytes.length, start + textBytesMax)
  for (let at = start; at < most; at++) {
    const byte = bytes[at]!
    if (byte === quote) return at
    if (byte === backslash) at++
    else if (byte < space) return -1
  }
  return -1
}

function split(event: Buffer): { parts: Buffer[]; texts: string[] } {
  // One character a byte, so that places in the text are places in the bytes.
  const text = event.toString('latin1')
  const parts: Buffer[] = []
  const texts: string[] = []
  let member = ''
  let start = 0
  // Copied, since the event is a piece of a larger buffer that need not live as long.
  const part = (end?: number) => Buffer.from(text.slice(start, end), 'latin1')
  for (const { 1: value = '', 2: colon, index } of text.matchAll(strings)) {
    if (colon === undefined && textMembers.has(member)) {
      parts.push(part(index + 1))
      texts.push(value)
      start = index + 1 + value.length
    }
    member = colon === undefined ? '' : value
  }
  parts.push(part())
  return { parts, texts }
}

function areEqual(texts: readonly string[], others: readonly string[]): boolean {
  return texts.length === others.length && texts.every((text, place) => text === others[place])
}
