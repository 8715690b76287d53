import type { components } from '../../generated/types.ts'
import type { Answered } from '../core/call.ts'
import {
  numberBytes,
  type EmbeddingInputs,
  type EmbeddingRequest,
  type EmbeddingResult,
  type Vector,
} from '../core/embedding/embedding.ts'
import type { Gateway } from '../core/gateway.ts'
import { prune } from '../core/prune.ts'
import type { CallInputs } from '../core/model.ts'
import { noUsage } from '../core/money/price.ts'
import type { MemoryHold } from '../bytes/memory-budget.ts'
import type { Answer } from '../http/answer.ts'
import { contextOf, type Body, type Operation, type OperationCall } from '../http/operation.ts'
import { costFields, receiptHeaders } from '../http/receipt-headers.ts'

type Schemas = components['schemas']
type Encoding = Schemas['EmbeddingEncoding']

/** POST /v1/embeddings */
export function createEmbedding({
  gateway,
}: {
  gateway: Pick<Gateway, 'embed' | 'find'>
}): Operation<'createEmbedding'> {
  return async (call) => {
    const answered = await gateway.embed(
      embeddingInputs(call, gateway),
      contextOf(call, 'embeddings'),
    )
    return embeddingAnswer(answered, call.body.encoding_format ?? 'float', call.memory)
  }
}

/** The inputs of the core for a body of the embeddings API, where null means absent. */
export function embeddingInputs(
  {
    body: { model, input, dimensions, user },
    caller,
  }: Pick<OperationCall<'createEmbedding'>, 'body' | 'caller'>,
  { find }: Pick<Gateway, 'find'>,
): CallInputs<EmbeddingRequest> {
  const request = { model, inputs: inputsOf(input), ...prune({ dimensions, user }) }
  return { request, models: [find(model, caller)] }
}

function inputsOf(input: Body<'createEmbedding'>['input']): EmbeddingInputs {
  if (typeof input === 'string') return [input]
  // A list of numbers is one text; the contract allows no mixed lists.
  return typeof input[0] === 'number' ? [input as number[]] : (input as EmbeddingInputs)
}

/** Bytes of text that are written between two turns of the event loop. */
const turnBytes = 256 * 1024

async function embeddingAnswer(
  { result, usage = noUsage, receipt }: Answered<EmbeddingResult>,
  encoding: Encoding,
  memory: MemoryHold,
): Promise<Answer> {
  const { inputTokens } = usage
  const tail: Omit<Schemas['EmbeddingList'], 'object' | 'data'> = {
    model: receipt.model.row.id,
    usage: { prompt_tokens: inputTokens, total_tokens: inputTokens, ...costFields(receipt.cost) },
    ...(receipt.warnings.length > 0 ? { warnings: [...receipt.warnings] } : {}),
  }
  const pieces: (string | Buffer)[] = ['{"object":"list","data":[']
  let written = 0
  for (const [index, vector] of result.vectors.entries()) {
    const comma = index === 0 ? '' : ','
    const item = `${comma}{"object":"embedding","index":${index},"embedding":`
    const piece = Buffer.from(`${item}${vectorJson[encoding](vector)}}`, 'latin1')
    memory.grow(piece.length)
    pieces.push(piece)
    written += piece.length
    if (written < turnBytes) continue
    written = 0
    await new Promise((resolve) => setImmediate(resolve))
  }
  pieces.push(`],${JSON.stringify(tail).slice(1)}`)
  return {
    status: 200,
    headers: { ...receiptHeaders(receipt), 'content-type': 'application/json' },
    pieces,
  }
}

/** Digits that identify a 32-bit number, as in OpenAI's answers; printing the double takes twice as many. */
const significantDigits = 9

const vectorJson: Readonly<Record<Encoding, (vector: Vector) => string>> = {
  base64: (vector) => `"${vector.toString('base64')}"`,
  float: (vector) => {
    let text = '['
    for (let at = 0; at < vector.length; at += numberBytes) {
      if (at > 0) text += ','
      text += vector.readFloatLE(at).toPrecision(significantDigits)
    }
    return `${text}]`
  },
}
