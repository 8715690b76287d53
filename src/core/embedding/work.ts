import { joinPieces, type Pieces } from '../../bytes/pieces.ts'
import { deliverWhole, tryRoutes, type Answered, type Call, type Work } from '../call.ts'
import { tokensOfPrompt } from '../chat/estimate.ts'
import { afterSpending, ProviderFailure } from '../failure.ts'
import type { CallInputs, Model } from '../model.ts'
import { addUsage, noUsage, type Usage } from '../money/price.ts'
import type { UpperUsage } from '../money/upper-cost.ts'
import type { Whole } from '../receipt.ts'
import type { Try } from '../resilience/failover.ts'
import { deadlineOfSiblings, runParts } from '../resilience/parts.ts'
import type { Route, Selection } from '../route.ts'
import type { Turn } from '../turn.ts'
import { checkEmbedding, dimensionsFor, takesUser } from './check.ts'
import {
  areTokens,
  numberBytes,
  type EmbeddingAdapter,
  type EmbeddingInputs,
  type EmbeddingRequest,
  type EmbeddingResult,
  type Vector,
} from './embedding.ts'

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

/** Vendors limit requests per minute: one request must not use up the whole limit. */
const concurrency = 4
/** Limit of all vectors of a call: 2048 of 4096 dimensions. */
const vectorBytesMax = 2048 * 4096 * numberBytes

type Options = { request: EmbeddingRequest; call: Call; selection: Selection }
type UsedEmbedding = EmbeddingResult & { usage: Usage; servedModel?: string | undefined }

/**
 * Makes the vectors in as many upstream calls as needed, each with failover of its own among the routes of
 * the model, and returns them in the order of the inputs. It never fails over to another model, whose
 * vectors cannot be compared.
 */
async function runEmbedding(options: Options): Promise<Whole<EmbeddingResult>> {
  const { request, call, selection } = options
  const { deadline, onFailure } = deadlineOfSiblings(call.deadline)
  const answers: { route: Route; value: UsedEmbedding; winner: Try }[] = []
  const parts = partsOf(request.inputs, selection.routes)
  const size = { bytes: 0, length: request.dimensions }
  try {
    await runParts({ parts, concurrency, answers, onFailure }, (inputs) =>
      tryRoutes(
        call,
        selection,
        (route, turn) => embedPart({ request, inputs, size, route }, turn),
        { deadline },
      ),
    )
  } catch (error) {
    // After a failure the list has gaps.
    for (const { winner, value } of Object.values(answers)) winner.spent = { usage: value.usage }
    throw error
  }
  const { route, value } = answers[0]!
  const { servedModel } = value
  const all = answers.map((one) => one.value)
  return {
    route,
    usage: all.map(({ usage }) => usage).reduce(addUsage),
    result: { vectors: all.flatMap(({ vectors }) => vectors) },
    bytes: size.bytes,
    warnings: [],
    ...(servedModel === undefined ? {} : { servedModel }),
  }
}

/** Splits inputs so that each of the routes takes each part in one call. */
function partsOf(inputs: EmbeddingInputs, routes: readonly Route[]): EmbeddingInputs[] {
  const inputsMax = Math.min(
    ...routes.map(
      ({ model: { row }, provider }) =>
        row.embedding?.inputs_per_call_max ?? adapterOf(provider).inputsPerCall,
    ),
  )
  const tokensMax = Math.min(
    ...routes.map(({ model: { row } }) => row.embedding?.tokens_per_call_max ?? Infinity),
  )
  const tokens = tokensMax === Infinity ? undefined : upperTokens(inputs)
  const parts: EmbeddingInputs[] = []
  let start = 0
  let sum = 0
  for (let at = 0; at < inputs.length; at++) {
    const more = tokens?.[at] ?? 0
    if (at > start && (at - start === inputsMax || sum + more > tokensMax)) {
      parts.push(inputs.slice(start, at))
      start = at
      sum = 0
    }
    sum += more
  }
  return [...parts, inputs.slice(start)]
}

type Part = {
  request: EmbeddingRequest
  route: Route
  inputs: EmbeddingInputs
  /** What the vectors of all parts have in common, and their size. */
  size: { bytes: number; length: number | undefined }
}

/** The vectors of one part at one route. Throws a ProviderFailure. */
async function embedPart(part: Part, turn: Turn): Promise<UsedEmbedding> {
  const { request, inputs, size, route } = part
  const { vectors, usage, servedModel } = await adapterOf(route.provider).embed({
    inputs,
    dimensions: dimensionsFor(request, route.model),
    user: takesUser(route) ? request.user : undefined,
    target: route,
    turn,
  })
  const counted = countedUsage(usage, inputs)
  const failure = failureOf(vectors, part)
  if (failure !== undefined) throw afterSpending(failure, counted)
  size.length ??= vectors[0]!.length / numberBytes
  size.bytes += vectors.length * size.length * numberBytes
  return { vectors, usage: counted, servedModel }
}

/** Why vectors cannot be delivered; undefined when they can. */
function failureOf(
  vectors: readonly Vector[],
  { request, inputs, size, route }: Part,
): ProviderFailure | undefined {
  if (vectors.length !== inputs.length) {
    const text = `The provider made ${vectors.length} vectors of ${inputs.length} texts.`
    return new ProviderFailure('malformed', text)
  }
  const bytes = vectors[0]!.length
  if (vectors.some(({ length }) => length !== bytes) || bytes === 0) {
    return new ProviderFailure('malformed', "The provider's vectors have different lengths.")
  }
  const length = bytes / numberBytes
  if (length !== (size.length ?? length)) {
    const text = `The model made vectors of ${length} dimensions, not of ${size.length}.`
    if (request.dimensions === undefined || !route.model.undescribed)
      return new ProviderFailure('malformed', text)
    // A server with unknown abilities has ignored the parameter.
    const options = { param: 'dimensions', code: 'unsupported_parameter' } as const
    return new ProviderFailure('rejected', `${text} Leave 'dimensions' out.`, options)
  }
  if (size.bytes + vectors.length * bytes > vectorBytesMax) {
    return new ProviderFailure('too_large', 'The vectors are too large. Send fewer texts at once.')
  }
  return undefined
}

/** The adapter of a provider; `checkEmbedding` has excluded those without one. */
function adapterOf({ embedding }: Route['provider']): EmbeddingAdapter {
  return embedding!
}

/** Tokens that vendors add to an input, such as marks of its beginning and end. */
const overheadTokens = 16

/**
 * Upper bound of the usage of a call (docs/behaviour.md#budgets): a token is at least one byte of text, and
 * an input has at most as many tokens as the model reads.
 */
function upperEmbeddingUsage(inputs: EmbeddingInputs): (model: Model) => UpperUsage {
  const tokens = upperTokens(inputs)
  return ({ row: { context_window: window = Infinity } }) => ({
    inputTokens: tokens.reduce((sum, count) => sum + Math.min(count, window), 0),
    outputTokens: 0,
    images: 0,
  })
}

/** Upper bounds of the tokens of each input. */
function upperTokens(inputs: EmbeddingInputs): number[] {
  return areTokens(inputs)
    ? inputs.map(({ length }) => length + overheadTokens)
    : inputs.map((text) => Buffer.byteLength(text) + overheadTokens)
}

/** Tokens of the inputs, estimated for texts. */
function tokensIn(inputs: EmbeddingInputs): number {
  return areTokens(inputs)
    ? inputs.reduce((sum, { length }) => sum + length, 0)
    : inputs.reduce((sum, text) => sum + tokensOfPrompt(text).certain, 0)
}

/** The vendor's counts, else an estimate; vectors have no output tokens. */
function countedUsage(counted: Usage | undefined, inputs: EmbeddingInputs): Usage {
  if (counted !== undefined && counted.inputTokens > 0) return { ...counted, outputTokens: 0 }
  return { ...noUsage, ...counted, inputTokens: tokensIn(inputs), estimated: true }
}
