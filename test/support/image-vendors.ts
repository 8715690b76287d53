import type { Bounds } from '../../src/settings/bounds.ts'
import { type CallOptions, type TestGateway, startGateway } from './gateway.ts'
import { alibabaKey, startAlibabaDouble } from './image-doubles/alibaba.ts'
import { bflKey, startBflDouble } from './image-doubles/bfl.ts'
import { bytedanceKey, startBytedanceDouble } from './image-doubles/bytedance.ts'
import type { ImageDouble } from './image-doubles/double.ts'
import { falKey, startFalDouble } from './image-doubles/fal.ts'
import { googleKey, startGoogleDouble } from './image-doubles/google.ts'
import { ideogramKey, startIdeogramDouble } from './image-doubles/ideogram.ts'
import { openaiKey, startOpenaiDouble } from './image-doubles/openai.ts'
import { recraftKey, startRecraftDouble } from './image-doubles/recraft.ts'
import { startTogetherDouble, togetherKey } from './image-doubles/together.ts'
import { startXaiDouble, xaiKey } from './image-doubles/xai.ts'
import { startZaiDouble, zaiKey } from './image-doubles/zai.ts'
import type { PublicNet } from '../../src/pictures/guarded-fetch.ts'

/** Members of an images API answer that the tests read. */
export type ImagesBody = {
  created: number
  data: { b64_json: string; revised_prompt?: string }[]
  background?: string
  output_format?: string
  size?: string
  quality?: string
  usage: {
    input_tokens: number
    output_tokens: number
    cost: number | null
    cost_status: string
    cost_details: { images?: number }
  }
  warnings?: WarningBody[]
}
export type WarningBody = { param: string; requested: unknown; applied: unknown; reason: string }

const starts = {
  google: startGoogleDouble,
  alibaba: startAlibabaDouble,
  zai: startZaiDouble,
  bytedance: startBytedanceDouble,
  openai: startOpenaiDouble,
  xai: startXaiDouble,
  together: startTogetherDouble,
  recraft: startRecraftDouble,
  ideogram: startIdeogramDouble,
  bfl: startBflDouble,
  fal: startFalDouble,
}
export type VendorName = keyof typeof starts
export const vendorKeys: Readonly<Record<VendorName, string>> = {
  google: googleKey,
  alibaba: alibabaKey,
  zai: zaiKey,
  bytedance: bytedanceKey,
  openai: openaiKey,
  xai: xaiKey,
  together: togetherKey,
  recraft: recraftKey,
  ideogram: ideogramKey,
  bfl: bflKey,
  fal: falKey,
}
const variableNames: Readonly<Record<VendorName, string>> = {
  google: 'GEMINI',
  alibaba: 'DASHSCOPE',
  zai: 'ZAI',
  bytedance: 'ARK',
  openai: 'OPENAI',
  xai: 'XAI',
  together: 'TOGETHER',
  recraft: 'RECRAFT',
  ideogram: 'IDEOGRAM',
  bfl: 'BFL',
  fal: 'FAL',
}

type Options = {
  vendors?: readonly VendorName[]
  limits?: Record<string, number>
  bounds?: Partial<Bounds>
  /** Additional settings of gateway.yaml. */
  file?: object
  variables?: Record<string, string>
  publicNet?: PublicNet
}

/** A gateway with live keys, in front of doubles of the image vendors. */
export type ImageVendors = {
  gateway: TestGateway
  doubles: Record<VendorName, ImageDouble>
  /** Posts with the live key and without the cache. */
  post(path: string, body: object, init?: CallOptions): Promise<Response>
  /** Posts, and returns the parsed answer, which must have status 200. */
  images(body: object, init?: CallOptions): Promise<ImagesBody>
  reset(): void
  stop(): Promise<void>
}

/** Settings with which a failure is returned at once, and does not affect the next call. */
const patience = {
  limits: { route_tries_max: 1 },
  bounds: { retryDelayMs: 0, circuitFailuresMax: 1000, taskPollMs: 5 },
}

export async function startImageVendors(options: Options = {}): Promise<ImageVendors> {
  const { vendors = Object.keys(starts) as VendorName[], limits = {}, file = {} } = options
  const started = await Promise.all(
    vendors.map(async (name) => [name, await starts[name]()] as const),
  )
  const doubles = Object.fromEntries(started) as Record<VendorName, ImageDouble>
  const variables = started.flatMap(([name, { url }]) => [
    [`${variableNames[name]}_API_KEY`, vendorKeys[name]],
    [`${variableNames[name]}_BASE_URL`, url],
  ])
  const gateway = await startGateway({
    variables: {
      ...(Object.fromEntries(variables) as Record<string, string>),
      ...options.variables,
    },
    file: { limits: { ...patience.limits, ...limits }, ...file },
    bounds: { ...patience.bounds, ...options.bounds },
    ...(options.publicNet === undefined ? {} : { publicNet: options.publicNet }),
  })
  const post: ImageVendors['post'] = (path, body, { headers, ...init } = {}) =>
    gateway.post(path, body, {
      key: gateway.liveKey,
      ...init,
      headers: { 'cache-control': 'no-store', ...headers },
    })
  return {
    gateway,
    doubles,
    post,
    images: async (body, init) => {
      const path = 'images' in body ? '/v1/images/edits' : '/v1/images/generations'
      const response = await post(path, body, init)
      const text = await response.text()
      if (response.status !== 200) throw new Error(`${response.status} ${text}`)
      return JSON.parse(text) as ImagesBody
    },
    reset: () => {
      for (const [, double] of started) double.reset()
    },
    stop: async () => {
      await gateway.stop()
      await Promise.all(started.map(([, double]) => double.stop()))
    },
  }
}
