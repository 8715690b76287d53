import { hash } from 'node:crypto'
import { numberBytes } from '../../core/embedding/embedding.ts'
import { normalized } from '../wire/vectors.ts'
import { chanceFrom } from './scene/chance.ts'
import { countTokens, tokensOf } from './tokens.ts'

/** The members of a request that the sandbox's adapter writes. */
export type EmbeddingBody = {
  model: string
  input: string[] | number[][]
  dimensions: number
}

/** Characters of a text that its vector depends on, since splitting long texts takes too long. */
const readCharactersMax = 16_384
/** Maximum random change of a number: texts with the same tokens get slightly different vectors. */
const ownShare = 0.05
/** Numbers that are computed between two turns of the event loop. */
const turnNumbers = 262_144

/** The scenarios of a request are read in all its texts. */
export function promptOf({ input }: EmbeddingBody): string {
  return input.filter((one) => typeof one === 'string').join('\n')
}

/** An answer in OpenAI's form; without `counts` it has no token counts. */
export async function embeddings(
  { model, input, dimensions }: EmbeddingBody,
  counts: boolean,
): Promise<object> {
  const data: object[] = []
  const read = input.map((one) => (typeof one === 'string' ? one : one.join(' ')))
  for (const [index, text] of read.entries()) {
    const embedding = vectorOf(text, model, dimensions).toString('base64')
    data.push({ object: 'embedding', index, embedding })
    if ((index * dimensions) % turnNumbers > turnNumbers - dimensions) {
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  const tokens = input.reduce(
    (sum, one) => sum + (typeof one === 'string' ? countTokens(one) : one.length),
    0,
  )
  const usage = { prompt_tokens: tokens, total_tokens: tokens }
  return { object: 'list', data, model, ...(counts ? { usage } : {}) }
}

/** A vector of length one: the same for the same text, and close to those of texts with the same words. */
function vectorOf(text: string, model: string, dimensions: number): Buffer {
  const numbers = new Float64Array(dimensions)
  for (const token of tokensOf(text.slice(0, readCharactersMax).toLowerCase())) {
    const digest = hash('sha512', `${model}\n${token.trim()}`, 'buffer')
    for (let at = 0; at < digest.length; at += 4) {
      const chance = digest.readUInt32LE(at)
      numbers[(chance >>> 1) % dimensions]! += chance % 2 === 0 ? 1 : -1
    }
  }
  const own = chanceFrom(`${model}\n${text}`, 0)
  const vector = Buffer.allocUnsafeSlow(dimensions * numberBytes)
  for (const [place, number] of numbers.entries()) {
    vector.writeFloatLE(number + own.between(-ownShare, ownShare), place * numberBytes)
  }
  return normalized(vector)
}
