import type { Target } from '../model.ts'
import type { Usage } from '../money/price.ts'
import type { Turn } from '../turn.ts'

/** Texts, or the tokens of texts. */
export type EmbeddingInputs = readonly string[] | readonly (readonly number[])[]

/** The canonical request for embeddings; how the vectors are encoded is not a part of it. */
export type EmbeddingRequest = {
  model: string
  inputs: EmbeddingInputs
  /** The requested length of the vectors. */
  dimensions?: number
  user?: string
}

/** A vector as 32-bit floating-point numbers, little-endian. */
export type Vector = Buffer

/** Bytes of one number of a vector. */
export const numberBytes = 4

/** The vectors of inputs, in the order of the inputs. */
export type EmbeddingResult = { vectors: readonly Vector[] }

/** The vendor's answer to one call; `usage` is absent when the vendor reports none. */
export type EmbeddingAnswer = EmbeddingResult & {
  usage?: Usage | undefined
  /** The model that the vendor reports. */
  servedModel?: string | undefined
}

/** One upstream call for a part of the inputs. */
export type EmbeddingCall = {
  inputs: EmbeddingInputs
  /** The length to request; absent when the vendor decides. */
  dimensions?: number | undefined
  user?: string | undefined
  target: Target
  turn: Turn
}

export type EmbeddingAdapter = {
  /** Most inputs in one call for a model without a catalog row. */
  inputsPerCall: number
  /** What the vendor's API has: a form for tokens, and fields for the length and the end user. */
  takes: { tokens?: true; dimensions?: true; user?: true }
  /** Makes the vectors of one call. Throws a ProviderFailure. */
  embed(call: EmbeddingCall): Promise<EmbeddingAnswer>
}

/** Whether the inputs are tokens, not texts. */
export function areTokens(inputs: EmbeddingInputs): inputs is readonly (readonly number[])[] {
  return typeof inputs[0] === 'object'
}
