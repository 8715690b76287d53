import type {
  EmbeddingAdapter,
  EmbeddingAnswer,
  EmbeddingCall,
  Vector,
} from '../../core/embedding/embedding.ts'
import { ProviderFailure } from '../../core/failure.ts'
import { countedFailure } from '../transport/answer-failure.ts'
import { jsonRequests, withKey } from '../transport/dispatch.ts'
import { printedCopies, receive } from '../transport/upstream.ts'
import { itemsOf, membersOf, textIn } from '../../core/any-json.ts'
import { base64Reader, type SplicedJson } from '../wire/base64-reader.ts'
import { tokensMaxOf } from '../wire/token-count.ts'
import { vectorOfBase64, vectorOfNumbers } from '../wire/vectors.ts'
import type { EmbeddingDialect, OpenAiEndpoint } from './dialect.ts'
import { bodyFailure, readFailure } from './failure.ts'
import { readUsage, usageIn } from './usage.ts'

const path = '/embeddings'
/** The default limit of Text Embeddings Inference, the lowest of the usual servers. */
const inputsPerCallStandard = 32
/** Copies in memory of vectors that arrive as base64: the text and the numbers. */
const base64Copies = 2

/** Embeddings over `POST /embeddings`. */
export function embeddingAdapter(
  endpoint: OpenAiEndpoint,
  embeddingDialect: EmbeddingDialect,
): EmbeddingAdapter {
  const { dispatch, texts, limits, dialect = {} } = endpoint
  const { inputsPerCall = inputsPerCallStandard, takes, base64 } = embeddingDialect
  const requestTo = jsonRequests(endpoint)
  const reading = { texts, failureKind: dialect.failureKind }
  const bytesMax = limits.answerBytesMax
  return {
    inputsPerCall,
    takes,
    embed: async (call) => {
      const { turn, inputs } = call
      const plain = requestTo(path, wireRequest(call, embeddingDialect))
      const request = withKey(plain, dialect.idempotencyHeader, turn.idempotencyKey)
      const copies = base64 ? base64Copies : printedCopies
      const answer = await receive({ dispatch, request, bytesMax, copies }, turn, (head) =>
        head.status === 200 ? base64Reader('embedding', inputs.length) : readFailure(head, reading),
      )
      const failure = bodyFailure(answer.json, reading)
      if (failure !== undefined) throw failure
      return readAnswer(answer, call)
    },
  }
}

function wireRequest(
  { inputs, dimensions, user, target }: EmbeddingCall,
  { base64, dimensionsName = 'dimensions' }: EmbeddingDialect,
): object {
  return {
    model: target.upstreamModel,
    input: inputs,
    ...(base64 ? { encoding_format: 'base64' } : {}),
    ...(dimensions === undefined ? {} : { [dimensionsName]: dimensions }),
    ...(user === undefined ? {} : { user }),
  }
}

async function readAnswer(
  { json, texts }: SplicedJson,
  { inputs, target }: EmbeddingCall,
): Promise<EmbeddingAnswer> {
  const body = membersOf(json)
  const usage = readUsage(usageIn(body, undefined), tokensMaxOf(target))
  try {
    const vectors = await vectorsIn(itemsOf(body['data']), texts, inputs.length)
    return { vectors, usage, servedModel: textIn(body['model']) }
  } catch (error) {
    throw countedFailure(error, usage)
  }
}

/** Bytes of vectors that are read between two turns of the event loop. */
const turnBytes = 256 * 1024

/** The vectors in the order of their `index`. */
async function vectorsIn(
  data: readonly unknown[],
  texts: SplicedJson['texts'],
  count: number,
): Promise<readonly Vector[]> {
  const vectors = new Map<unknown, Vector>()
  let read = 0
  for (const [place, item] of data.entries()) {
    // Some servers omit the index.
    const { index = place, embedding } = membersOf(item)
    const vector =
      typeof embedding === 'string'
        ? vectorOfBase64(texts[Number(embedding.slice(1))] ?? [])
        : vectorOfNumbers(itemsOf(embedding))
    vectors.set(index, vector)
    read += vector.length
    if (read < turnBytes) continue
    read = 0
    await new Promise((resolve) => setImmediate(resolve))
  }
  const ordered = Array.from({ length: count }, (_, index) => vectors.get(index))
  if (data.length === count && ordered.every((vector) => vector !== undefined)) return ordered
  const message = 'The answer does not have one vector for each text.'
  throw new ProviderFailure('malformed', message)
}
