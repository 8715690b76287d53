import type OpenAI from 'openai'
import { anthropicKey } from './anthropic-upstream.ts'
import { chatVendors, type ChatVendor } from './chat-vendors.ts'
import { geminiKey } from './gemini-upstream.ts'
import type { ImageDouble } from './image-doubles/double.ts'
import { startImageVendors } from './image-vendors.ts'
import type { TestGateway } from './gateway.ts'
import { openAiClient } from './openai-client.ts'
import { openAiKey } from './openai-upstream.ts'
import type { Spoken } from './spoken.ts'
import { startUpstream, type Upstream } from './upstream.ts'

/** The image model of the tests; each image costs two cents. */
export const imageModel = 'xai/grok-imagine-image-2.0'
export const imageNanoUsd = 20_000_000

/** The body of a request that a language model received. */
export type SentBody = Record<string, unknown>
/** A script of the language model: an answer for each request, the last also for all further ones. */
export type Script = (Spoken | ((body: SentBody) => Spoken))[]

/** A gateway in front of language models and of one image model. */
export type ImageToolHouse = {
  gateway: TestGateway
  client: OpenAI
  images: ImageDouble
  upstreams: Record<ChatVendor['id'], Upstream>
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
    client: openAiClient(gateway, gateway.liveKey),
    images: vendors.doubles.xai,
    upstreams,
    says: (...script) => {
      const sent: SentBody[] = []
      for (const { id, double } of chatVendors) {
        upstreams[id].answer(
          double((body) => {
            const next = script[Math.min(sent.length, script.length - 1)]!
            sent.push(body)
            return typeof next === 'function' ? next(body) : next
          }),
        )
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
