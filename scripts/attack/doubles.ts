import { randomUUID } from 'node:crypto'
import { completion, streamed } from '../../test/support/chat-answers.ts'
import { chatVendors } from '../../test/support/chat-vendors.ts'
import { anthropicKey } from '../../test/support/anthropic-upstream.ts'
import { geminiKey } from '../../test/support/gemini-upstream.ts'
import { openAiKey } from '../../test/support/openai-upstream.ts'
import { pixel } from '../../test/support/pixel.ts'
import {
  startUpstream,
  type ReceivedRequest,
  type ScriptedAnswer,
  type Upstream,
} from '../../test/support/upstream.ts'
import { hostileAnswer } from './hostile-vendor.ts'

/** Test doubles of upstreams: normal vendors, and an operator's own server with hostile models. */
export type Doubles = {
  own: Upstream
  /** The number of requests for a model that the operator's own server received. */
  asked(model: string): number
  /** Environment variables with the addresses and keys of the vendors' doubles. */
  variables: Record<string, string>
  stop(): Promise<void>
}

export async function startDoubles(): Promise<Doubles> {
  const asked = new Map<string, number>()
  const own = await startWithoutLog((request) => {
    const model = modelOf(request)
    asked.set(model, (asked.get(model) ?? 0) + 1)
    return answerOwn(request, model)
  })
  const [openai, anthropic, google] = await Promise.all(
    chatVendors.map(({ double }) =>
      startWithoutLog(double(() => ({ text: ['Hello ', 'there.'] }))),
    ),
  )
  return {
    own,
    asked: (model) => asked.get(model) ?? 0,
    variables: {
      OPENAI_API_KEY: openAiKey,
      OPENAI_BASE_URL: openai!.url,
      ANTHROPIC_API_KEY: anthropicKey,
      ANTHROPIC_BASE_URL: anthropic!.url,
      GEMINI_API_KEY: geminiKey,
      GEMINI_BASE_URL: google!.url,
    },
    stop: async () => {
      await Promise.all([own, openai!, anthropic!, google!].map((upstream) => upstream.stop()))
    },
  }
}

/** An upstream that does not keep its requests, because an attack sends very many. */
export async function startWithoutLog(
  answer: (request: ReceivedRequest) => ScriptedAnswer,
): Promise<Upstream> {
  const upstream = await startUpstream()
  upstream.answer((request) => {
    upstream.requests.length = 0
    return answer(request)
  })
  return upstream
}

const [, pixelBase64 = ''] = pixel.split(',')

/** The model of a request in JSON, or in a form. */
function modelOf({ body }: ReceivedRequest): string {
  if (typeof body === 'string') return /name="model"\r\n\r\n([^\r]+)/.exec(body)?.[1] ?? ''
  return String((body as { model?: unknown }).model)
}

function answerOwn(request: ReceivedRequest, model: string): ScriptedAnswer {
  const { path, body } = request
  const hostile = hostileAnswer(request)
  if (hostile !== undefined) return hostile
  const { stream, n } = body as { stream?: boolean; n?: number }
  // Answers of these models are slow, so that callers can disconnect before the answer.
  if (model === 'unique' || model.startsWith('left-')) return uniqueAnswer(path, stream)
  if (path.includes('/images/')) {
    const data = Array.from({ length: n ?? 1 }, () => ({ b64_json: pixelBase64 }))
    return { body: { created: 1, data } }
  }
  if (path.endsWith('/moderations')) return { body: { results: [harmless] } }
  if (path.endsWith('/embeddings')) return { body: vectorsOf(body as { input: unknown[] }) }
  return stream === true ? streamed(['Hello ', 'there.']) : completion('Hello there.')
}

const harmless = { flagged: false, categories: {}, category_scores: {} }

function vectorsOf({ input }: { input: unknown[] }): object {
  const data = input.map((_, index) => ({ index, embedding: [1, 0] }))
  return { data, usage: { prompt_tokens: input.length } }
}

/** Long enough for a second caller to send the same request during the call. */
const uniqueDelayMs = 300

/** An answer that contains a unique id. */
function uniqueAnswer(path: string, isStream = false): ScriptedAnswer {
  const made = `made-${randomUUID()}`
  if (isStream) return { ...streamed([made]), delayMs: uniqueDelayMs }
  if (!path.includes('/images/')) return { ...completion(made), delayMs: uniqueDelayMs }
  const data = [{ b64_json: pixelBase64, revised_prompt: made }]
  return { body: { created: 1, data }, delayMs: uniqueDelayMs }
}
