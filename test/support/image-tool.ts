import type OpenAI from 'openai'
import { anthropicKey } from './anthropic-upstream.ts'
import { chatVendors, type ChatVendor } from './chat-vendors.ts'
import { geminiKey } from './gemini-upstream.ts'
import type { ImageDouble } from './image-doubles/double.ts'
import { startImageVendors } from './image-vendors.ts'
import type { CallOptions, TestGateway } from './gateway.ts'
import { openAiClient } from './openai-client.ts'
import { openAiKey } from './openai-upstream.ts'
import { checkResponseEvents } from './response-events.ts'
import type { Spoken } from './spoken.ts'
import { startUpstream, type ReceivedRequest, type Upstream } from './upstream.ts'

/** The image model of the tests; each image costs two cents. */
export const imageModel = 'xai/grok-imagine-image-2.0'
export const imageNanoUsd = 60_000_000

export const imageTool = { type: 'image_generation' as const }

type Item = Record<string, unknown> & { id: string; type: string }
/** The members of a response that tests read. */
export type ImageAnswer = {
  id: string
  status: string
  store: boolean
  output: Item[]
  usage: { cost: number }
  warnings?: { param: string; reason: string }[]
}

/** Reads a successful response, whose events are checked. */
export async function readAnswer(response: Response): Promise<ImageAnswer> {
  const text = await response.text()
  if (response.status !== 200) throw new Error(`${response.status} ${text}`)
  const isStream = response.headers.get('content-type')!.startsWith('text/event-stream')
  return (isStream ? checkResponseEvents(text).response : JSON.parse(text)) as ImageAnswer
}

export function imagesIn({ output }: Pick<ImageAnswer, 'output'>): Item[] {
  return output.filter(({ type }) => type === 'image_generation_call')
}

/** The body of a request that a language model received. */
export type SentBody = Record<string, unknown>
/** Scripts the language model: an answer for each request, the last also for all further ones. */
export type Script = (Spoken | 'fails')[]

/** A gateway in front of language models and of one image model. */
export type ImageToolHouse = {
  gateway: TestGateway
  client: OpenAI
  images: ImageDouble
  upstreams: Record<ChatVendor['id'], Upstream>
  /** Posts a request for an image to GPT-4.1, with the live key. */
  post(body?: object, init?: CallOptions): Promise<Response>
  /** The requests for images. */
  drawn(): ReceivedRequest[]
  /** Scripts the language models of all vendors; returns the bodies that they receive. */
  says(...script: Script): SentBody[]
  stop(): Promise<void>
}

export async function startImageTool(
  options: Parameters<typeof startImageVendors>[0] = {},
): Promise<ImageToolHouse> {
  const [openai, anthropic, google] = await Promise.all([
    startUpstream(),
    startUpstream(),
    startUpstream(),
  ])
  const upstreams = { openai, anthropic, google }
  const vendors = await startImageVendors({
    vendors: ['xai'],
    ...options,
    variables: {
      OPENAI_API_KEY: openAiKey,
      OPENAI_BASE_URL: openai.url,
      ANTHROPIC_API_KEY: anthropicKey,
      ANTHROPIC_BASE_URL: anthropic.url,
      GEMINI_API_KEY: geminiKey,
      GEMINI_BASE_URL: google.url,
      DEFAULT_IMAGE_MODEL: imageModel,
    },
    limits: { cache_ttl_seconds: 0, ...options.limits },
  })
  const { gateway } = vendors
  return {
    gateway,
    post: (body = {}, init = {}) =>
      gateway.post(
        '/v1/responses',
        { model: 'gpt-4.1', input: 'A boat.', tools: [imageTool], ...body },
        { key: gateway.liveKey, ...init },
      ),
    drawn: () => vendors.doubles.xai.calls.filter(({ method }) => method === 'POST'),
    client: openAiClient(gateway, gateway.liveKey),
    images: vendors.doubles.xai,
    upstreams,
    says: (...script) => {
      const sent: SentBody[] = []
      for (const { id, double } of chatVendors) {
        upstreams[id].answer((request) => {
          const next = script[Math.min(sent.length, script.length - 1)]!
          // Lists of models are not scripted.
          if (request.method !== 'POST') return { status: 404 }
          sent.push(request.body as SentBody)
          return next === 'fails' ? { status: 500 } : double(() => next)(request)
        })
      }
      return sent
    },
    stop: async () => {
      await vendors.stop()
      await Promise.all([openai.stop(), anthropic.stop(), google.stop()])
    },
  }
}

/** A turn in which the model asks for an image. */
export function asksForImage(args: object = { prompt: 'A blue boat', action: 'generate' }): Spoken {
  return {
    calls: [{ id: 'call_image', name: 'image_generation', args }],
    end: 'tool_calls',
    counts: { input: 100, output: 10 },
  }
}
