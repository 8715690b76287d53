import { tokensOfPrompt } from '../chat/estimate.ts'
import type { Model } from '../model.ts'
import { noUsage, type Usage } from '../money/price.ts'
import type { UpperUsage } from '../money/upper-cost.ts'
import { areTokens, type EmbeddingInputs } from './embedding.ts'

/** Tokens that vendors add to an input, such as marks of its beginning and end. */
const overheadTokens = 16

/**
 * Upper bound of the usage of a call (docs/behaviour.md#budgets): a token is at least one byte of text, and
 * an input has at most as many tokens as the model reads.
 */
export function upperEmbeddingUsage(inputs: EmbeddingInputs): (model: Model) => UpperUsage {
  const tokens = upperTokens(inputs)
  return ({ row: { context_window: window = Infinity } }) => ({
    inputTokens: tokens.reduce((sum, count) => sum + Math.min(count, window), 0),
    outputTokens: 0,
    images: 0,
  })
}

/** Upper bounds of the tokens of each input. */
export function upperTokens(inputs: EmbeddingInputs): number[] {
  return areTokens(inputs)
    ? inputs.map(({ length }) => length + overheadTokens)
    : inputs.map((text) => Buffer.byteLength(text) + overheadTokens)
}

/** Tokens of the inputs, estimated for texts. */
export function tokensIn(inputs: EmbeddingInputs): number {
  return areTokens(inputs)
    ? inputs.reduce((sum, { length }) => sum + length, 0)
    : inputs.reduce((sum, text) => sum + tokensOfPrompt(text).certain, 0)
}

/** The vendor's counts, else an estimate; vectors have no output tokens. */
export function countedUsage(counted: Usage | undefined, inputs: EmbeddingInputs): Usage {
  if (counted !== undefined && counted.inputTokens > 0) return { ...counted, outputTokens: 0 }
  return { ...noUsage, ...counted, inputTokens: tokensIn(inputs), estimated: true }
}
