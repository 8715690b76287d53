import { Refused, vendorDouble, allowOnly } from './spoken.ts'
import type { ReceivedRequest, ScriptedAnswer } from './upstream.ts'

type Body = Record<string, unknown>
type Input = string | number[]

/** What a vendor with OpenAI's protocol accepts. */
type Rules = {
  key: string
  path: string
  fields: readonly string[]
  inputsMax: number
  takesTokens?: true
  takesBase64?: true
  dimensionsName?: string
  /** Length of the vectors of each model, and the other lengths that it makes. */
  models: Readonly<Record<string, { length: number; others: (length: number) => boolean }>>
}

const none = () => false
const upTo = (most: number) => (length: number) => length >= 1 && length <= most
const oneOf = (lengths: readonly number[]) => (length: number) => lengths.includes(length)

const rules = {
  openai: {
    key: 'sk-proj-0123456789abcdef',
    path: '/openai/embeddings',
    fields: ['model', 'input', 'encoding_format', 'dimensions', 'user'],
    inputsMax: 2048,
    takesTokens: true,
    takesBase64: true,
    dimensionsName: 'dimensions',
    models: {
      'text-embedding-3-small': { length: 1536, others: upTo(1536) },
      'text-embedding-3-large': { length: 3072, others: upTo(3072) },
      'text-embedding-ada-002': { length: 1536, others: none },
    },
  },
  mistral: {
    key: 'mistral-0123456789abcdef',
    path: '/mistral/embeddings',
    fields: ['model', 'input', 'output_dimension'],
    inputsMax: 32,
    dimensionsName: 'output_dimension',
    models: {
      'mistral-embed': { length: 1024, others: none },
      'codestral-embed': { length: 1536, others: upTo(3072) },
    },
  },
  alibaba: {
    key: 'sk-0123456789abcdef',
    path: '/alibaba/compatible-mode/v1/embeddings',
    fields: ['model', 'input', 'dimensions'],
    inputsMax: 10,
    dimensionsName: 'dimensions',
    models: {
      'text-embedding-v4': {
        length: 1024,
        others: oneOf([64, 128, 256, 512, 768, 1024, 1536, 2048]),
      },
    },
  },
  zai: {
    key: 'zai-0123456789abcdef',
    path: '/zai/embeddings',
    fields: ['model', 'input', 'dimensions'],
    inputsMax: 64,
    dimensionsName: 'dimensions',
    models: { 'embedding-3': { length: 2048, others: oneOf([256, 512, 1024, 2048]) } },
  },
  together: {
    key: 'together-0123456789abcdef',
    path: '/together/embeddings',
    fields: ['model', 'input'],
    inputsMax: 32,
    models: { 'BAAI/bge-large-en-v1.5': { length: 1024, others: none } },
  },
} as const satisfies Record<string, Rules>

export const googleKey = 'AIza0123456789abcdef'
const googleModels: Readonly<Record<string, number>> = {
  'gemini-embedding-001': 3072,
  'gemini-embedding-2': 3072,
}

/** Settings of a gateway whose vendors are at one upstream. */
export function embeddingVariables(url: string): Record<string, string> {
  return {
    OPENAI_API_KEY: rules.openai.key,
    OPENAI_BASE_URL: `${url}/openai`,
    MISTRAL_API_KEY: rules.mistral.key,
    MISTRAL_BASE_URL: `${url}/mistral`,
    DASHSCOPE_API_KEY: rules.alibaba.key,
    DASHSCOPE_BASE_URL: `${url}/alibaba`,
    ZAI_API_KEY: rules.zai.key,
    ZAI_BASE_URL: `${url}/zai`,
    TOGETHER_API_KEY: rules.together.key,
    TOGETHER_BASE_URL: `${url}/together`,
    GEMINI_API_KEY: googleKey,
    GEMINI_BASE_URL: `${url}/google`,
  }
}

/** Simulates the vendors: refuses what they refuse, and makes the vectors of `numbersOf`. */
export function embeddingVendors(request: ReceivedRequest): ScriptedAnswer {
  if (request.path.startsWith('/google/')) return google(request)
  const all: readonly Rules[] = Object.values(rules)
  const vendor = all.find(({ path }) => path === request.path)
  if (vendor !== undefined) return openAiShaped(vendor)(request)
  if (request.method !== 'GET') return { status: 404, body: {} }
  // The lists of models, which name those that the catalog lacks.
  const listed = all.find(({ path }) => request.path.split('/')[1] === path.split('/')[1])
  const names = Object.keys(listed?.models ?? {})
  return { body: { object: 'list', data: names.map((id) => ({ id })) } }
}

const numbersPerText = 3

/** The vector of a text, of length one: its last word, a number, decides the first numbers. */
export function numbersOf(input: Input, length: number): Float32Array {
  const number = typeof input === 'string' ? Number(/\d+$/.exec(input)?.[0] ?? 0) : input[0]!
  const angle = number / 1000
  const vector = new Float32Array(length)
  vector.set([Math.cos(angle), Math.sin(angle) * 0.6, Math.sin(angle) * 0.8].slice(0, length))
  return vector
}

/** Tokens of an input, by the vendors' count. */
export function tokensOf(input: Input): number {
  return typeof input === 'string' ? input.split(' ').length * numbersPerText : input.length
}

/** 32-bit numbers, little-endian, in base64. */
export function base64Of(vector: Float32Array): string {
  const bytes = Buffer.alloc(vector.length * 4)
  for (const [at, number] of vector.entries()) bytes.writeFloatLE(number, at * 4)
  return bytes.toString('base64')
}

function openAiShaped(vendor: Rules): (request: ReceivedRequest) => ScriptedAnswer {
  const invalid = 'invalid_request_error'
  return vendorDouble({
    check: ({ headers, body }) => {
      if (headers.authorization !== `Bearer ${vendor.key}`) {
        throw new Refused(401, 'invalid_api_key', 'Incorrect API key provided.')
      }
      allowOnly(body, vendor.fields, 'Unrecognized request argument', invalid)
      const known = vendor.models[String(body['model'])]
      if (known === undefined) throw new Refused(404, 'model_not_found', 'No such model.')
      checkInput(body['input'], vendor)
      const asked = body[vendor.dimensionsName ?? '']
      if (asked !== undefined && !known.others(Number(asked))) {
        throw new Refused(400, invalid, 'This model does not support specifying dimensions.')
      }
    },
    refusal: ({ type, message }) => ({
      error: { message, type: invalid, param: null, code: type },
    }),
    answer: ({ body }) => {
      const sent = body as Body
      const input = sent['input'] as Input[]
      const known = vendor.models[String(sent['model'])]!
      const length = Number(sent[vendor.dimensionsName ?? ''] ?? known.length)
      const isText = sent['encoding_format'] === 'base64'
      const data = input.map((one, index) => {
        const vector = numbersOf(one, length)
        return { object: 'embedding', index, embedding: isText ? base64Of(vector) : [...vector] }
      })
      const tokens = input.reduce((sum, one) => sum + tokensOf(one), 0)
      const usage = { prompt_tokens: tokens, total_tokens: tokens }
      return { body: { object: 'list', data, model: sent['model'], usage } }
    },
  })
}

function checkInput(input: unknown, { inputsMax, takesTokens }: Rules): void {
  const refuse = (text: string) => new Refused(400, 'invalid_request_error', text)
  if (!Array.isArray(input) || input.length === 0) throw refuse('input must be a list here')
  if (input.length > inputsMax) throw refuse(`input has more than ${inputsMax} entries`)
  for (const one of input as unknown[]) {
    const isTokens = Array.isArray(one) && one.every(Number.isSafeInteger)
    if (typeof one !== 'string' && !(isTokens && takesTokens)) throw refuse('input is no text')
    if ((one as Input).length === 0) throw refuse('input cannot be empty')
  }
}

const google = vendorDouble({
  check: ({ method, path, headers, body }) => {
    const [, model = ''] =
      /^\/google\/v1beta\/models\/([\w.-]+):batchEmbedContents$/.exec(path) ?? []
    if (method !== 'POST' || !(model in googleModels)) throw new Refused(404, 'NOT_FOUND', path)
    const invalid = 'INVALID_ARGUMENT'
    if (headers['x-goog-api-key'] !== googleKey) throw new Refused(400, invalid, 'API key')
    allowOnly(body, ['requests'], 'Unknown name', invalid)
    const requests = body['requests'] as Body[]
    if (requests.length > 100) throw new Refused(400, invalid, 'at most 100 requests')
    for (const one of requests) {
      allowOnly(one, ['model', 'content', 'outputDimensionality'], 'Unknown name', invalid)
      if (one['model'] !== `models/${model}`) throw new Refused(400, invalid, 'model')
      allowOnly(one['content'], ['parts'], 'Unknown name', invalid)
    }
  },
  refusal: ({ status, type, message }) => ({ error: { code: status, message, status: type } }),
  answer: ({ body }) => {
    type One = { content: { parts: [{ text: string }] }; outputDimensionality?: number }
    const { requests } = body as { requests: One[] }
    const embeddings = requests.map(({ content, outputDimensionality: length = 3072 }) => {
      const vector = numbersOf(content.parts[0].text, length)
      // Shortened vectors are not of length one.
      return { values: [...vector].map((number) => (length < 3072 ? number * 0.5 : number)) }
    })
    return { body: { embeddings } }
  },
})
