import {
  connectionError,
  pauseBeforeRetry,
  retriesMaxOf,
  send,
  type Call,
  type RequestData,
  type StreamOptions,
} from './client.js'
import { GatewayError, isError, parsed } from './gateway-error.js'
import { readEvents, type StreamEvent } from './read-events.js'

/** A function that makes the calls of an operation and streams their answers. */
export type StreamOperation<Data extends RequestData, Event> = (
  options: StreamOptions<Data>,
) => EventStream<Exclude<Event, { type: 'error' }>>

/** What the contract says about the streams of an operation. */
type StreamForm = {
  /** The data of the last event, which is not yielded. */
  last?: string
  /** Whether the operation continues a stream after the event of `Last-Event-ID`. */
  resumes?: boolean
}

/** A connection that lasted this long was not refused, and does not count as a failure when it ends. */
const lastingMs = 5_000

const notJson = 'An event of the stream is not a JSON object.'

/** The function of an operation that streams its answers. */
export function streamOperation<Data extends RequestData, Event>(
  method: string,
  url: Data['url'],
  form: StreamForm = {},
): StreamOperation<Data, Event> {
  return (given) => {
    const options: Call['options'] = { ...given }
    if (method === 'POST') options.body = { ...(options.body as object), stream: true }
    return new EventStream({ method, url, takesKey: true, options }, form)
  }
}

/**
 * The events of a stream, for one loop. The request is sent when the loop begins; leaving the loop ends it, as
 * does the `signal` of its options. An error of the gateway, also one in the stream, is thrown as `GatewayError`.
 */
export class EventStream<Event> implements AsyncIterable<Event> {
  /** The headers of the response, as soon as it has begun. */
  headers: Headers | undefined
  /** The id of the last event; only the events of image jobs have one. */
  lastEventId: string | undefined
  readonly #call: Call
  readonly #form: StreamForm
  readonly #events: AsyncGenerator<Event, void, undefined>
  #received = 0

  constructor(call: Call, form: StreamForm) {
    this.#call = call
    this.#form = form
    this.#events = this.#read()
  }

  [Symbol.asyncIterator](): AsyncGenerator<Event, void, undefined> {
    return this.#events
  }

  async *#read(): AsyncGenerator<Event, void, undefined> {
    const { options } = this.#call
    const left = new AbortController()
    const given = options.signal === undefined ? [] : [options.signal]
    const signal = AbortSignal.any([left.signal, ...given])
    try {
      for (let failures = 0; ;) {
        const { lastEventId: id } = this
        const resumed = id === undefined ? {} : { 'last-event-id': id }
        const headers = { ...options.headers, ...resumed }
        const response = await send({ ...this.#call, options: { ...options, headers, signal } })
        const received = this.#received
        const beganAt = performance.now()
        const failure = yield* this.#eventsOf(response, signal)
        if (failure === undefined) return
        const isAlive = this.#received > received || performance.now() - beganAt > lastingMs
        failures = isAlive ? 0 : failures + 1
        if (failures > retriesMaxOf(options)) throw failure
        if (!isAlive) await pauseBeforeRetry(failure, failures, signal)
      }
    } finally {
      left.abort()
    }
  }

  /** Yields the events of a response. Returns the failure after which the stream can be continued. */
  async *#eventsOf(
    response: Response,
    signal: AbortSignal,
  ): AsyncGenerator<Event, GatewayError | undefined, undefined> {
    const { last, resumes = false } = this.#form
    const { status, headers, body } = response
    this.headers = headers
    // No event is left.
    if (status === 204 || body === null) return undefined
    if (headers.get('content-type')?.startsWith('text/event-stream') !== true)
      throw new GatewayError({
        status,
        headers,
        message: 'The response is no stream.',
        mayRepeat: false,
      })
    const ended = new Error('The stream ended early.')
    let cause: unknown = ended
    let isLast = false
    try {
      for await (const event of readEvents(body)) {
        // The chunk that has been read may have more events.
        signal.throwIfAborted()
        // The rest is read too, so that the connection can be used again.
        isLast ||= event.data === last
        if (isLast) continue
        this.lastEventId = event.id ?? this.lastEventId
        yield this.#dataOf(event, response)
      }
    } catch (thrown) {
      if (thrown instanceof GatewayError) throw thrown
      cause = thrown
    }
    if (isLast || (cause === ended && last === undefined && !resumes)) return undefined
    const failure = connectionError(cause, signal, false)
    if (!resumes) throw failure
    return failure
  }

  #dataOf({ event, data }: StreamEvent, { status, headers }: Response): Event {
    const body = parsed(data)
    if (event === 'error' || isError(body)) {
      // What has been received would be charged again.
      const mayRepeat = this.#received === 0 && this.#form.resumes !== true
      throw new GatewayError({ status, headers, body, message: 'The stream failed.', mayRepeat })
    }
    if (typeof body !== 'object')
      throw new GatewayError({ status, headers, body, message: notJson, mayRepeat: false })
    this.#received++
    // By the contract the other events have this type.
    return body as Event
  }
}
