import { createBase64Encoder, encodedBytes } from '../../bytes/base64.ts'
import type { Hold } from '../../bytes/budget.ts'
import { afterSpending, ProviderFailure } from '../../core/failure.ts'
import type { Picture } from '../../core/image/image.ts'
import { readPicture } from '../../core/image/picture.ts'
import { noUsage } from '../../core/money/price.ts'
import type { Dispatch } from './dispatch.ts'
import { noMemory } from './drawing.ts'
import { receive, type PieceReader } from './upstream.ts'

/** Downloads from an untrusted URL; rejects when it is not public. */
export type FetchPublic = (
  address: string,
  limits: { bytesMax: number; signal: AbortSignal },
  sink: { push(piece: Buffer): void },
) => Promise<void>
/** Downloads a picture that a vendor answered as a URL. Throws a ProviderFailure. */
export type FetchPicture = (
  address: string,
  call: { signal: AbortSignal; hold: Hold },
) => Promise<Picture>

/** Downloads the pictures of an answer. Of one that fails it is known what the vendor has made. */
export async function fetchEach(
  fetchPicture: FetchPicture,
  addresses: readonly string[],
  call: Parameters<FetchPicture>[1],
): Promise<Picture[]> {
  try {
    return await Promise.all(addresses.map((one) => fetchPicture(one, call)))
  } catch (error) {
    throw afterSpending(error, { ...noUsage, images: addresses.length })
  }
}

type Options = {
  fetchPublic: FetchPublic
  /** Requests to the vendor's own origin, which may be private, since the operator chose it. */
  dispatchToOrigin: Dispatch
  baseUrl: string
  limits: {
    headersTimeoutMs: number
    idleTimeoutMs: number
    endTimeoutMs: number
    answerBytesMax: number
  }
}

/** Signed addresses have some hundred. */
const addressCharactersMax = 8192

/** Downloads pictures without the vendor's key; a failed download is retried once. */
export function createFetchPicture(options: Options): FetchPicture {
  const { fetchPublic, dispatchToOrigin: dispatch, baseUrl, limits } = options
  const { origin } = new URL(baseUrl)
  const bytesMax = limits.answerBytesMax
  const fetchOnce: FetchPicture = async (address, { signal, hold }) => {
    const url = address.length > addressCharactersMax ? null : URL.parse(address)
    if (url === null) throw malformed('The provider answered with something that is no address.')
    if (url.origin === origin) {
      const path = url.pathname + url.search
      const { headersTimeoutMs, idleTimeoutMs, endTimeoutMs: errorTimeoutMs } = limits
      const timeouts = { headersTimeoutMs, idleTimeoutMs, errorTimeoutMs }
      const request = { method: 'GET', path, headers: {}, ...timeouts } as const
      // It names a picture, and may be anything that answers there.
      const how = { dispatch, request, signal, hold, traceHeaders: undefined, bytesMax }
      return receive(how, ({ status }) =>
        status === 200 ? pictureReader() : refusedReader(status),
      )
    }
    // Some vendors write `http:` URLs for hosts that also serve `https:`.
    if (url.protocol === 'http:' && url.port === '') url.protocol = 'https:'
    const reader = pictureReader()
    try {
      await fetchPublic(url.href, { bytesMax, signal }, heldBy(hold, reader))
    } catch (cause) {
      if (cause instanceof ProviderFailure) throw cause
      if (signal.aborted && signal.reason instanceof ProviderFailure) throw signal.reason
      throw malformed("The provider's picture cannot be fetched.", cause)
    }
    return reader.finish()
  }
  return async (address, call) => {
    try {
      return await fetchOnce(address, call)
    } catch (error) {
      // The picture is made and paid for: one failed download must not lose it.
      // An error of any other class has no status, and is retried too.
      const { status = 500, kind } = error as Partial<ProviderFailure>
      if (call.signal.aborted || status < 500 || kind === 'no_memory') throw error
      return fetchOnce(address, call)
    }
  }
}

/** Takes pieces as long as there is room for their base64. Throws `no_memory`. */
function heldBy(hold: Hold, { push }: Pick<PieceReader<unknown>, 'push'>) {
  return {
    push: (piece: Buffer) => {
      if (hold.takeMore(encodedBytes(piece)) !== undefined) throw noMemory()
      push(piece)
    },
  }
}

/** Turns the bytes of a picture into base64 as they arrive. */
function pictureReader(): PieceReader<Picture> {
  const encoder = createBase64Encoder()
  return {
    push: encoder.push,
    finish: () => {
      const picture = readPicture(encoder.finish())
      if (picture === undefined) throw malformed('The provider answered with no PNG, JPEG or WebP.')
      return picture
    },
  }
}

/** Throws in `finish`, since an error thrown at the head would not reject the caller's promise. */
function refusedReader(status: number): PieceReader<never> {
  return {
    push: () => undefined,
    isEnough: () => true,
    finish: () => {
      throw new ProviderFailure('malformed', `The provider's picture answers ${status}.`, {
        status,
      })
    },
  }
}

function malformed(message: string, cause?: unknown): ProviderFailure {
  return new ProviderFailure('malformed', message, { cause })
}
