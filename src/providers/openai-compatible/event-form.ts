/**
 * The bytes around the texts of an event. Many events of a stream have the same form. An event of a
 * known form is not parsed, since only its texts differ from those of a parsed event.
 */
export type EventForm = {
  /** The vendor's bytes: before the first text, between texts, and after the last text. */
  from: readonly Buffer[]
  /** The bytes to forward; undefined if the event is unchanged. */
  to: readonly Buffer[] | undefined
}

/** Members whose texts vary. `obfuscation` and `p` are padding against traffic analysis. */
const textMembers = new Set([
  'content',
  'reasoning_content',
  'reasoning',
  'arguments',
  'obfuscation',
  'p',
])
const strings = /"((?:[^"\\]|\\.)*)"\s*(:)?/gs
/** Events of more bytes have no form. */
const formBytesMax = 2048
/** Texts of more bytes match no form: parsing them once is cheaper than a scan for each form. */
const textBytesMax = 16_384
const quote = 0x22
const backslash = 0x5c
const space = 0x20

/**
 * The form of an event and of its forwarded version. Undefined if the event has no text, or if the
 * forwarded version has different texts.
 */
export function formOf(event: Buffer, passedOn: Buffer): EventForm | undefined {
  if (event.length > formBytesMax) return undefined
  const from = split(event)
  if (!from.texts.some(Boolean)) return undefined
  const to = event === passedOn ? undefined : split(passedOn)
  if (to !== undefined && !areEqual(from.texts, to.texts)) return undefined
  return { from: from.parts, to: to?.parts }
}

/** The end of the event at `start` if it has this form, otherwise -1; `ends` gets the end of each text. */
export function endOfForm(
  events: Buffer,
  start: number,
  { from }: EventForm,
  ends: number[],
): number {
  let at = start
  for (let place = 0; place < from.length; place++) {
    if (place > 0) ends[place] = at = endOfText(events, at)
    const part = from[place]!
    if (at < 0 || !isAt(events, at, part)) return -1
    at += part.length
  }
  return at
}

/** Writes the forwarded version of the event at `start`, which has this form and these ends of its texts. */
export function rewrite(
  events: Buffer,
  start: number,
  { from, to = [] }: EventForm,
  { ends, out }: { ends: readonly number[]; out: Output },
): void {
  let at = start
  for (let place = 0; place < from.length; place++) {
    if (place > 0) out.write(events, at, (at = ends[place]!))
    out.write(to[place]!)
    at += from[place]!.length
  }
}

/** The changed version of some events, in one buffer: a buffer for each part costs more than copying its bytes. */
export class Output {
  readonly #events: Buffer
  #bytes: Buffer
  /** The end of the events that were written or left out. */
  #done = 0
  length = 0

  constructor(events: Buffer) {
    this.#events = events
    this.#bytes = Buffer.allocUnsafe(events.length + events.length / 4)
  }

  /** Writes the events before `start`, and leaves out those from there to `end`. */
  leaveOut(start: number, end: number): this {
    this.write(this.#events, this.#done, start)
    this.#done = end
    return this
  }

  write(source: Buffer, start = 0, end = source.length): void {
    const needed = this.length + end - start
    if (needed > this.#bytes.length) {
      const longer = Buffer.allocUnsafe(2 * needed)
      this.#bytes.copy(longer, 0, 0, this.length)
      this.#bytes = longer
    }
    source.copy(this.#bytes, this.length, start, end)
    this.length = needed
  }

  written(): Buffer {
    return this.#bytes.subarray(0, this.length)
  }
}

function isAt(events: Buffer, at: number, part: Buffer): boolean {
  const end = at + part.length
  return end <= events.length && events.compare(part, 0, part.length, at, end) === 0
}

/** The index of a text's closing quote; -1 for a text without one, invalid JSON or a long text. */
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
  // latin1 has one character per byte, so indexes of the text are indexes of the bytes.
  const text = event.toString('latin1')
  const parts: Buffer[] = []
  const texts: string[] = []
  let member = ''
  let start = 0
  // Copies the bytes, since `event` is a view of a larger buffer, which would stay in memory.
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
