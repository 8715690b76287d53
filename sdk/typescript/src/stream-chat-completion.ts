import { createSseClient } from './generated/core/serverSentEvents.gen.js'
import {
  createChatCompletion,
  type ChatCompletionChunk,
  type CreateChatCompletionData,
  type ErrorBody,
  type ErrorResponse,
  type Options,
} from './generated/index.js'

/** An error of the gateway, before a stream or in it. */
export class GatewayError extends Error {
  override readonly name = 'GatewayError'
  readonly error: ErrorBody
  readonly response: Response
  constructor({ error }: ErrorResponse, response: Response) {
    super(error.message)
    this.error = error
    this.response = response
  }
}

/**
 * Creates a streamed chat completion and yields its chunks. Leaving the loop aborts the call, as does `signal`.
 * Throws `GatewayError`, or the error of `fetch` if the connection fails or is aborted.
 */
export async function* streamChatCompletion(
  options: Options<CreateChatCompletionData>,
): AsyncGenerator<ChatCompletionChunk, void, undefined> {
  const left = new AbortController()
  const signal = AbortSignal.any([left.signal, ...(options.signal ? [options.signal] : [])])
  try {
    const { error, request, response } = await createChatCompletion({
      ...options,
      body: { ...options.body, stream: true },
      signal,
      parseAs: 'stream',
      responseStyle: 'fields',
      throwOnError: false,
    })
    if (request === undefined || response === undefined) throw error
    if (error !== undefined) throw failureOf(error, response)
    yield* chunksOf(request, response)
  } finally {
    left.abort()
  }
}

function failureOf(error: unknown, response: Response): Error {
  if (isErrorResponse(error)) return new GatewayError(error, response)
  if (error instanceof Error) return error
  // For example a page of a proxy.
  return new Error(`The response ${response.status} is not from the gateway.`, { cause: error })
}

async function* chunksOf(
  request: Request,
  response: Response,
): AsyncGenerator<ChatCompletionChunk, void, undefined> {
  let failure: unknown
  const { stream } = createSseClient({
    url: request.url,
    fetch: () => Promise.resolve(response),
    // The response cannot be read again.
    sseMaxRetryAttempts: 1,
    onSseError: (error) => {
      failure = error
    },
  })
  for await (const event of stream) {
    if (event === '[DONE]') return
    if (isErrorResponse(event)) throw new GatewayError(event, response)
    // By the contract every other event is a chunk.
    yield event as ChatCompletionChunk
  }
  throw failure ?? new Error('The stream ended without [DONE].')
}

function isErrorResponse(value: unknown): value is ErrorResponse {
  // A chunk of a vendor may have `error: null`.
  const { error } = (value ?? {}) as Partial<ErrorResponse>
  return typeof error === 'object' && error !== null
}
