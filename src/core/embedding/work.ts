import { joinPieces, type Pieces } from '../../bytes/pieces.ts'
import { deliverWhole, type Answered, type Work } from '../call.ts'
import type { Whole } from '../receipt.ts'
import type { CallInputs, Model } from '../model.ts'
import type { UpperUsage } from '../money/upper-cost.ts'
import { checkEmbedding } from './check.ts'
import { areTokens, type EmbeddingRequest, type EmbeddingResult } from './embedding.ts'
import { runEmbedding } from './run.ts'
import { tokensIn, upperEmbeddingUsage } from './usage.ts'

/** The vectors of texts, answered in one piece. */
export function embeddingWork(
  { request, models }: CallInputs<EmbeddingRequest>,
  timeoutMs: number,
): Work<Whole<EmbeddingResult>, Answered<EmbeddingResult>> {
  const { inputs } = request
  let upperUsage: ((model: Model) => UpperUsage) | undefined
  return {
    modality: 'embedding',
    models,
    timeoutMs,
    warnings: [],
    prompt: () => (areTokens(inputs) ? '' : inputs.join('\n')),
    demand: { images: 0, tokens: () => ({ certain: tokensIn(inputs), assumed: 0 }) },
    check: (route) => checkEmbedding(request, route),
    upperUsage: ({ model }) => (upperUsage ??= upperEmbeddingUsage(inputs))(model),
    canonical: () => request,
    isShared: true,
    make: async (call, selection) => {
      const made = await runEmbedding({ request, call, selection })
      return { ...made, warnings: checkEmbedding(request, made.route).warnings }
    },
    deliver: (whole, delivery) => deliverWhole(whole, delivery, packed),
    // Only `deliver` writes under the cache key of a request for embeddings.
    replay: ({ result, usage }, receipt) => ({
      result: unpacked(result as Packed),
      usage,
      receipt,
    }),
  }
}

/** Vectors as the cache keeps them: as Buffers, outside the JavaScript heap, which it joins to one. */
type Packed = { bytes: Pieces; vectorBytes: number }

function packed({ vectors }: EmbeddingResult): Packed {
  return { bytes: vectors, vectorBytes: vectors[0]!.length }
}

function unpacked({ bytes, vectorBytes }: Packed): EmbeddingResult {
  const all = joinPieces(bytes)
  const count = all.length / vectorBytes
  const vectors = Array.from({ length: count }, (_, index) =>
    all.subarray(index * vectorBytes, (index + 1) * vectorBytes),
  )
  return { vectors }
}
