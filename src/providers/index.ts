import type { ReadSources } from '../core/image/image.ts'
import type { Provider } from '../core/route.ts'
import { alibaba } from './alibaba/index.ts'
import { writeChat as writeAnthropic } from './anthropic/chat-request.ts'
import { anthropic } from './anthropic/index.ts'
import { bytedance } from './bytedance/index.ts'
import { writeChat as writeGemini } from './google/chat-request.ts'
import { google } from './google/index.ts'
import { writeChat } from './openai-compatible/chat-request.ts'
import { dialectOf } from './openai-compatible/dialect.ts'
import { openAiCompatible } from './openai-compatible/index.ts'
import { openai } from './openai/index.ts'
import { sandboxProviders, type CheckChat } from './sandbox/index.ts'
import { coalesceStreams } from './transport/coalescing.ts'
import { createDispatch } from './transport/dispatch.ts'
import { bearer, type Endpoint, type UpstreamLimits } from './transport/endpoint.ts'
import { createFetchPicture, type FetchPublic } from './transport/fetch-picture.ts'
import { createKeyRing, type KeyRing } from './transport/key-ring.ts'
import { vendors } from './vendors.ts'
import { zai } from './zai/index.ts'

/** An endpoint that speaks OpenAI's protocol, as the operator configured it. */
export type EndpointConfig = {
  id: string
  baseUrl: string
  keys: readonly string[]
  /** The operator's own endpoint takes any model, or those listed; a vendor those of the catalog. */
  models: '*' | readonly string[] | 'catalog'
  /** Whether it fetches the pictures of a conversation by their address. */
  fetchesImages?: boolean
}

export type ProviderLimits = {
  upstreamConnectTimeoutMs: number
  upstreamHeadersTimeoutMs: number
  upstreamIdleTimeoutMs: number
  upstreamEndTimeoutMs: number
  upstreamConnectionsMax: number
  upstreamAnswerBytesMax: number
  streamCoalescingMs: number
  streamCoalescingBytesMax: number
  streamCoalescingStreamsMin: number
  circuitOpenMs: number
  circuitOpenMaxMs: number
  rendersConcurrentMax: number
  rendersQueuedMax: number
}

const builders: Record<string, (endpoint: Endpoint) => Provider> = {
  google,
  alibaba,
  zai,
  bytedance,
  openai,
  anthropic,
}

/** Endpoints like OpenAI's answer with an address of a picture unless they are asked for the picture. */
function likeOpenAi(endpoint: Endpoint, fetchesImages: boolean): Provider {
  const dialect = dialectOf(endpoint.id)
  return openAiCompatible({
    ...endpoint,
    dialect: fetchesImages ? dialect : { ...dialect, inlineImages: true },
    imageFields: () => ({ response_format: 'b64_json' }),
  })
}

/** What a vendor would say to a conversation, for the sandbox in its place. */
const checkChat: CheckChat = (request, route) => {
  const { provider } = route.model.row
  if (provider === 'google') return writeGemini(request, route)
  if (provider === 'anthropic') return writeAnthropic(request, route)
  // Named as the vendor whom it stands for.
  return writeChat(request, { ...route, provider: { id: provider } }, dialectOf(provider))
}

export type Providers = {
  configured: ReadonlyMap<string, Provider>
  sandbox: readonly Provider[]
  close: () => Promise<void>
}

/** What providers need besides their settings. */
type Outside = {
  sandboxRoutesMax: number
  fetchPublic: FetchPublic
  readSources: ReadSources
  clock: () => number
}

/** Builds each configured provider, and the sandbox. */
export function createProviders(
  endpoints: readonly EndpointConfig[],
  limits: ProviderLimits,
  { sandboxRoutesMax, fetchPublic, readSources, clock }: Outside,
): Providers {
  const upstreamLimits: UpstreamLimits = {
    headersTimeoutMs: limits.upstreamHeadersTimeoutMs,
    idleTimeoutMs: limits.upstreamIdleTimeoutMs,
    endTimeoutMs: limits.upstreamEndTimeoutMs,
    answerBytesMax: limits.upstreamAnswerBytesMax,
  }
  const coalescing = coalesceStreams({
    intervalMs: limits.streamCoalescingMs,
    bytesMax: limits.streamCoalescingBytesMax,
    streamsMin: limits.streamCoalescingStreamsMin,
  })
  const built = endpoints.map(({ id, baseUrl, keys, fetchesImages = true }) => {
    const { dispatch, dispatchToOrigin, close } = createDispatch(baseUrl, {
      connectTimeoutMs: limits.upstreamConnectTimeoutMs,
      connectionsMax: limits.upstreamConnectionsMax,
    })
    const fetchPicture = createFetchPicture({
      fetchPublic,
      dispatchToOrigin,
      baseUrl,
      limits: upstreamLimits,
    })
    const ring = ringOf(id, { dispatch, keys, limits, clock })
    const endpoint: Endpoint = {
      id,
      dispatch: ring?.dispatch ?? dispatch,
      keys,
      limits: upstreamLimits,
      coalescing,
      fetchPicture,
      readSources,
    }
    const built = builders[id]?.(endpoint) ?? likeOpenAi(endpoint, fetchesImages)
    const provider = ring === undefined ? built : { ...built, hasSpareKey: ring.hasSpareKey }
    return { provider, close }
  })
  return {
    configured: new Map(built.map(({ provider }) => [provider.id, provider])),
    sandbox: sandboxProviders({
      limits: { ...upstreamLimits, ...limits },
      coalescing,
      routesMax: sandboxRoutesMax,
      checkChat,
    }),
    close: async () => {
      await Promise.all(built.map(({ close }) => close()))
    },
  }
}

type Keys = Pick<Endpoint, 'dispatch' | 'keys'> & { limits: ProviderLimits; clock: () => number }

/** With one key there is nothing to choose. */
function ringOf(id: string, { dispatch, keys, limits, clock }: Keys): KeyRing | undefined {
  if (keys.length < 2) return undefined
  const header = vendors.find((vendor) => vendor.id === id)?.keyHeader
  return createKeyRing({
    dispatch,
    keys,
    headersOf: (key) => (header === undefined ? bearer(key) : { [header]: key }),
    restMs: limits.circuitOpenMs,
    restMaxMs: limits.circuitOpenMaxMs,
    clock,
  })
}

/** The variable that enables a provider; undefined when none does. */
export function settingFor(providerId: string): string | undefined {
  return vendors.find(({ id }) => id === providerId)?.keyVariables[0]
}
