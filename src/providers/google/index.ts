import type { EmbeddingAdapter, EmbeddingAnswer } from '../../core/embedding/embedding.ts'
import type { Target } from '../../core/model.ts'
import { itemsOf, membersOf } from '../../core/any-json.ts'
import { countedFailure } from '../transport/answer-failure.ts'
import { jsonRequests } from '../transport/dispatch.ts'
import type { Endpoint } from '../transport/endpoint.ts'
import { parseJson, printedCopies, receive, wholeReader } from '../transport/upstream.ts'
import type { Vendor } from '../vendor.ts'
import { tokensMaxOf } from '../wire/token-count.ts'
import { normalized, vectorOfNumbers } from '../wire/vectors.ts'
import { readFailure, readUsage } from './answer.ts'
import { writeChat } from './chat-request.ts'
import { chatAdapter } from './chat.ts'
import { imageAdapter } from './image.ts'

/** Google Gemini, provider group 1 (docs/vendors.md#google-gemini). */
export const google: Vendor = {
  id: 'google',
  name: 'Google Gemini',
  traceName: 'gcp.gemini',
  keyPrefixes: ['AIza', 'AQ.'],
  keyVariables: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
  baseUrlVariable: 'GEMINI_BASE_URL',
  baseUrl: 'https://generativelanguage.googleapis.com',
  keyHeader: 'x-goog-api-key',
  badKeyMark: 'API_KEY_INVALID',
  modelsPath: '/v1beta/models?pageSize=1000',
  modelNames,
  namePrefixes: ['gemini', 'models', 'vertex_ai'],
  imageConfig: 'ImageConfigGoogle',
  thoughtsShown: 'asked',
  writeChat,
  build: (endpoint) => ({
    id: endpoint.id,
    chat: chatAdapter(endpoint, '/v1beta/models', (body, model) => ({
      generateContentRequest: { model: `models/${model}`, ...body },
    })),
    image: imageAdapter(endpoint, '/v1beta/models'),
    embedding: embeddingAdapter(endpoint),
  }),
}

const publisherPath = '/publishers/google/models'

/** Gemini in Google Cloud, with the tokens of a service account (docs/vendors.md#vertex). */
export const vertex: Vendor = {
  id: 'vertex',
  name: 'Google Vertex AI',
  traceName: 'gcp.vertex_ai',
  keyVariables: ['VERTEX_SERVICE_ACCOUNT'],
  tokenScope: 'https://www.googleapis.com/auth/cloud-platform',
  anyModel: true,
  modelsOf: 'google',
  baseUrlVariable: 'VERTEX_BASE_URL',
  baseUrl: 'https://aiplatform.googleapis.com/v1/projects/{VERTEX_PROJECT}/locations/global',
  modelsPath: `/v1beta1${publisherPath}?pageSize=100`,
  modelsAtOrigin: true,
  // The list has what Google publishes, also where the project may not use it.
  modelNames: () => [],
  imageConfig: 'ImageConfigGoogle',
  thoughtsShown: 'asked',
  writeChat,
  build: (endpoint) => ({
    id: endpoint.id,
    chat: chatAdapter(endpoint, publisherPath, ({ toolConfig: _choice, ...body }) => body),
    image: imageAdapter(endpoint, publisherPath),
  }),
}

/** Names in Google's model list, without the prefix of `models/gemini-3.5-flash`. */
function modelNames({ models }: { models?: { name?: unknown }[] }): unknown[] {
  return (models ?? []).map(({ name }) => String(name).replace(/^models\//, ''))
}

/** Google's limit of a batch. */
const inputsPerCall = 100

/** Embeddings through `batchEmbedContents` (docs/vendors.md#embeddings). */
function embeddingAdapter(endpoint: Endpoint): EmbeddingAdapter {
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
