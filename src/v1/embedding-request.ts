import type { EmbeddingInputs, EmbeddingRequest } from '../core/embedding/embedding.ts'
import type { Body } from '../http/operation.ts'

/** The core's request for a body of the embeddings API, where null means absent. */
export function embeddingRequest({
  model,
  input,
  dimensions,
  user,
}: Body<'createEmbedding'>): EmbeddingRequest {
  return {
    model,
    inputs: inputsOf(input),
    ...(dimensions === undefined || dimensions === null ? {} : { dimensions }),
    ...(user === undefined || user === null ? {} : { user }),
  }
}

function inputsOf(input: Body<'createEmbedding'>['input']): EmbeddingInputs {
  if (typeof input === 'string') return [input]
  // A list of numbers is one text; the contract allows no mixed lists.
  return typeof input[0] === 'number' ? [input as number[]] : (input as EmbeddingInputs)
}
