import { createBase64Encoder, encodedBytes } from '../../bytes/base64.ts'
import type { MemoryHold } from '../../bytes/memory-budget.ts'
import { GatewayError } from '../../core/error.ts'
import { afterSpending, ProviderFailure } from '../../core/failure.ts'
import type { Picture } from '../../core/image/image.ts'
import { readMade } from '../../core/image/picture.ts'
import { noUsage, type Usage } from '../../core/money/price.ts'
import type { Turn } from '../../core/turn.ts'
import type { Dispatch, RequestLimits } from './dispatch.ts'
import type { ThroughCassette } from './cassette.ts'
import type { FetchPicture } from './endpoint.ts'
import { noMemory } from './answer-memory.ts'
import { receive, wholeReader, type PieceReader } from './upstream.ts'

/** Downloads from an untrusted URL; rejects if its address is not public. */
export type FetchPublic = (
  address: string,
  limits: { bytesMax: number; signal: AbortSignal },
  sink: { push(piece: Buffer): unknown },
) => Promise<void>

/** Downloads all pictures of an answer. A failure reports the number of pictures that were made. */
export async function fetchEach(
  fetchPicture: FetchPicture,
  addresses: readonly string[],
  turn: Turn,
  usage: Usage = noUsage,
): Promise<Picture[]> {
  try {
    return await Promise.all(addresses.map((one) => fetchPicture(one, turn)))
  } catch (error) {
    throw afterSpending(error, { ...usage, images: addresses.length })
  }
}

type Options = {
  fetchPublic: FetchPublic
  /** Sends without the key to the vendor's own origin, which may be private: the operator configured it. */
  dispatch: Dispatch
  throughCassette: ThroughCassette
  baseUrl: string
  limits: RequestLimits & { answerBytesMax: number }
}

/** Longer URLs are rejected; signed URLs have a few hundred characters. */
const addressCharactersMax = 8192

/** Downloads pictures without the vendor's key; a failed download is retried once. */
export function createFetchPicture(options: Options): FetchPicture {
  const { fetchPublic, dispatch, throughCassette, baseUrl, limits } = options
  const { origin } = new URL(baseUrl)
  const bytesMax = limits.answerBytesMax
  const fetchOnce: FetchPicture = async (address, { signal, memory, cassette }) => {
    const url = address.length > addressCharactersMax ? null : URL.parse(address)
    if (url === null) throw malformed('The provider answered with an invalid picture URL.')
    if (url.origin === origin) {
      const path = url.pathname + url.search
      const request = { method: 'GET', path, atOrigin: true, headers: {}, limits } as const
      // Sends no trace headers: the URL may lead to any service on the vendor's origin.
      return receive({ dispatch, request, bytesMax }, { signal, memory, cassette }, ({ status }) =>
        status === 200 ? pictureReader() : refusedReader(status),
      )
    }
    // Some vendors write `http:` URLs for hosts that also serve `https:`.
    if (url.protocol === 'http:' && url.port === '') url.protocol = 'https:'
    const reader = pictureReader()
    try {
      if (cassette !== undefined) {
        const { origin: otherOrigin, pathname, search } = url
        const path = pathname + search
        const request = { method: 'GET', path, otherOrigin, headers: {}, limits } as const
        const dispatched = throughCassette(dispatchTo(fetchPublic, url.href, bytesMax))
        const exchange = { dispatch: dispatched, request, bytesMax }
        return await receive(exchange, { signal, memory, cassette }, pictureReader)
      }
      await fetchPublic(url.href, { bytesMax, signal }, countedBy(memory, reader, signal))
    } catch (cause) {
      if (cause instanceof ProviderFailure && cause.kind !== 'unreachable') throw cause
      if (cassette?.plays && cause instanceof GatewayError) throw cause
      if (signal.aborted && signal.reason instanceof ProviderFailure) throw signal.reason
      throw malformed("The provider's picture cannot be fetched.", cause)
    }
    return reader.finish()
  }
  return async (address, turn) => {
    try {
      return await fetchOnce(address, turn)
    } catch (error) {
      // Retries a failed download, since the picture is made and paid for. An error without a status
      // is retried too.
      const { status = 500, kind } = error as Partial<ProviderFailure>
      if (turn.signal.aborted || status < 500 || kind === 'no_memory') throw error
      return fetchOnce(address, turn)
    }
  }
}

/** A download as a request, which a cassette can record. */
function dispatchTo(fetchPublic: FetchPublic, address: string, bytesMax: number): Dispatch {
  return (_request, receiver) => {
    const ending = new AbortController()
    const { signal } = ending
    const ignore = () => undefined
    receiver.start({ pause: ignore, resume: ignore, abort: (reason) => ending.abort(reason) })
    receiver.head(200, {})
    fetchPublic(address, { bytesMax, signal }, { push: receiver.data }).then(
      receiver.end,
      receiver.error,
    )
  }
}

/** Passes pieces on when there is memory for their base64, like those of other answers. Throws `no_memory`. */
function countedBy(
  memory: MemoryHold,
  { push }: Pick<PieceReader<unknown>, 'push'>,
  signal: AbortSignal,
) {
  return {
    push: async (piece: Buffer) => {
      const { promise, resolve: go, reject } = Promise.withResolvers<void>()
      const decision = memory.draw(encodedBytes(piece), go, () => reject(noMemory()))
      if (decision === 'refuse') throw noMemory()
      if (decision === 'wait') {
        const leave = () => memory.leave(go) && reject(signal.reason)
        signal.addEventListener('abort', leave)
        await promise.finally(() => signal.removeEventListener('abort', leave))
      }
      push(piece)
    },
  }
}

/** Encodes the bytes of a picture to base64 as they arrive. */
function pictureReader(): PieceReader<Picture> {
  const encoder = createBase64Encoder()
  return {
    push: encoder.push,
    finish: () => {
      const picture = readMade(encoder.finish())
      if (picture === undefined)
        throw malformed("The provider's picture is not a PNG, JPEG, WebP or SVG.")
      return picture
    },
  }
}

/** Throws in `finish`: an error thrown at the head would not reject the promise. */
function refusedReader(status: number): PieceReader<never> {
  const reader = wholeReader(() => {
    const text = `The provider's picture answers ${status}.`
    throw new ProviderFailure('malformed', text, { status })
  })
  return { ...reader, isEnough: () => true }
}

function malformed(message: string, cause?: unknown): ProviderFailure {
  return new ProviderFailure('malformed', message, { cause })
}
