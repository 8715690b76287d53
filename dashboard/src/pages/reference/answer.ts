import { away } from '../../data/calling.ts'
import { eventsOf, type StreamEvent } from '../../data/event-stream.ts'
import { jsonOf } from './request.ts'

/** The answer to a tried request as far as it has arrived. */
export type Received = {
  status: number
  headers: readonly [string, string][]
  /** Whether the answer is a redirect, of which a page reads nothing. */
  isRedirect: boolean
  text: string
  /** The text as it is shown: with indents, and with pictures cut. */
  shown: string
  /** The last events of a stream, with their time after the request; earlier ones are counted only. */
  events: { name: string; shown: string; atMs: number }[]
  eventCount: number
  /** The text of a streamed chat so far. */
  spoken: string
  /** Pictures as data URLs, by their place in the answer. */
  pictures: string[]
  isDone: boolean
  durationMs: number
}

const eventsMax = 200

type Reading = { signal: AbortSignal; change: () => void }

/** Sends a request, and calls `onChange` after each part of the answer. Throws a Refusal when none arrives. */
export async function receive(
  path: string,
  sending: RequestInit & { signal: AbortSignal },
  onChange: (received: Received) => void,
): Promise<void> {
  const startedMs = performance.now()
  const response = await fetch(path, { ...sending, redirect: 'manual' }).catch((error: unknown) => {
    throw sending.signal.aborted ? error : away()
  })
  const received: Received = {
    status: response.status,
    headers: [...response.headers],
    isRedirect: response.type === 'opaqueredirect',
    text: '',
    shown: '',
    events: [],
    eventCount: 0,
    spoken: '',
    pictures: [],
    isDone: false,
    durationMs: 0,
  }
  const change = () => {
    received.durationMs = performance.now() - startedMs
    onChange({ ...received })
  }
  change()
  try {
    await read(response, received, { signal: sending.signal, change })
  } finally {
    received.isDone = true
    change()
  }
}

/** Reads an answer to its end, which is a picture, events or a text. */
async function read(response: Response, received: Received, { signal, change }: Reading) {
  const type = response.headers.get('content-type') ?? ''
  if (type.startsWith('image/')) {
    received.pictures = [URL.createObjectURL(await response.blob())]
  } else if (type.startsWith('text/event-stream')) {
    for await (const event of eventsOf(response, signal)) {
      take(received, event)
      change()
    }
  } else {
    received.text = await response.text()
    received.pictures = picturesIn(received.text)
    received.shown = readable(received.text)
  }
}

function take(received: Received, { name, data }: StreamEvent): void {
  received.text += `${name && `event: ${name}\n`}data: ${data}\n\n`
  received.eventCount += 1
  const event = { name, shown: readable(data), atMs: received.durationMs }
  received.events = [...received.events.slice(1 - eventsMax), event]
  received.spoken += spokenIn(data)
  const [picture] = picturesIn(data)
  const at = /"image_index":(\d+)/.exec(data)?.[1] ?? 0
  if (picture !== undefined)
    received.pictures = Object.assign([...received.pictures], { [at]: picture })
}

/** The text that an event of a chat, of messages or of a response adds. */
function spokenIn(data: string): string {
  const { choices, type, delta } = (jsonOf(data) ?? {}) as {
    choices?: { delta?: { content?: string | null } }[]
    type?: string
    delta?: string | { text?: string }
  }
  if (typeof delta === 'object') return delta.text ?? ''
  return (type === 'response.output_text.delta' ? delta : choices?.[0]?.delta?.content) ?? ''
}

/** The pictures in a JSON text of the images API or of a chat, as data URLs. */
function picturesIn(text: string): string[] {
  const found: string[] = []
  const collect = (name: string, value: unknown) => {
    const isText = typeof value === 'string'
    if (isText && (name === 'b64_json' || value.startsWith('data:image/'))) found.push(value)
    return value
  }
  const { output_format: format = 'png' } = (jsonOf(text, collect) ?? {}) as {
    output_format?: string
  }
  const type = format === 'svg' ? 'svg+xml' : format
  return found.map((value) =>
    value.startsWith('data:') ? value : `data:image/${type};base64,${value}`,
  )
}

const longMax = 400
const shownMax = 100_000

/** JSON with indents, and with long texts such as pictures cut; another text as it is. */
export function readable(text: string): string {
  const cut = (_: string, value: unknown) =>
    typeof value === 'string' && value.length > longMax
      ? `${value.slice(0, 60)}… (${value.length} characters)`
      : value
  const value = jsonOf(text, cut)
  const read = value === undefined ? text : JSON.stringify(value, null, 2)
  return read.length > shownMax ? `${read.slice(0, shownMax)}\n… (shortened)` : read
}
