import type { EmbeddingAdapter, EmbeddingAnswer } from '../../core/embedding/embedding.ts'
import type { Target } from '../../core/model.ts'
import { countedFailure } from '../transport/answer-failure.ts'
import { jsonRequests } from '../transport/dispatch.ts'
import type { Endpoint } from '../transport/endpoint.ts'
import { parseJson, printedCopies, receive, wholeReader } from '../transport/upstream.ts'
import { itemsOf, membersOf } from '../../core/any-json.ts'
import { tokensMaxOf } from '../wire/token-count.ts'
import { normalized, vectorOfNumbers } from '../wire/vectors.ts'
import { readFailure, readUsage } from './answer.ts'

/** Google's limit of a batch. */
const inputsPerCall = 100

/** Embeddings through `batchEmbedContents` (docs/vendors.md#embeddings). */
export function embeddingAdapter(endpoint: Endpoint): EmbeddingAdapter {
  const { dispatch, texts, limits } = endpoint
  const requestTo = jsonRequests(endpoint)
  const bytesMax = limits.jsonBytesMax
  return {
    inputsPerCall,
    takes: { dimensions: true },
    embed: ({ inputs, dimensions, target, turn }) => {
      const model = `models/${target.upstreamModel}`
      const more = dimensions === undefined ? {} : { outputDimensionality: dimensions }
      const requests = inputs.map((text) => ({ model, content: { parts: [{ text }] }, ...more }))
      const path = `/v1beta/models/${encodeURIComponent(target.upstreamModel)}:batchEmbedContents`
      const request = requestTo(path, { requests })
      // Only whole vectors have length one.
      const isShortened = dimensions !== undefined
      return receive({ dispatch, request, bytesMax, copies: printedCopies }, turn, (head) =>
        head.status === 200
          ? wholeReader((bytes) => readAnswer(parseJson(bytes), { target, isShortened }))
          : readFailure(head, texts),
      )
    },
  }
}

function readAnswer(
  json: unknown,
  { target, isShortened }: { target: Target; isShortened: boolean },
): EmbeddingAnswer {
  const { embeddings, usageMetadata } = membersOf(json)
  const usage = readUsage(membersOf(usageMetadata), tokensMaxOf(target))
  try {
    const vectors = itemsOf(embeddings).map((one) => {
      const vector = vectorOfNumbers(itemsOf(membersOf(one)['values']))
      return isShortened ? normalized(vector) : vector
    })
    return { vectors, usage }
  } catch (error) {
    throw countedFailure(error, usage)
  }
}
