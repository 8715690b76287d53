import type { Provider } from '../core/route.ts'
import { alibaba } from './alibaba/index.ts'
import { anthropic } from './anthropic/index.ts'
import { bytedance } from './bytedance/index.ts'
import { createDispatch } from './dispatch.ts'
import type { Endpoint, UpstreamLimits } from './endpoint.ts'
import { createFetchPicture, type FetchPublic } from './fetch-picture.ts'
import { google } from './google/index.ts'
import { openai } from './openai/index.ts'
import { openAiCompatible } from './openai-compatible/index.ts'

import { sandboxProviders } from './sandbox/index.ts'
import { vendors } from './vendors.ts'
import { zai } from './zai/index.ts'

/** An endpoint that speaks OpenAI's protocol, as the operator configured it. */
export type EndpointConfig = {
  id: string
  baseUrl: string
  keys: readonly string[]
  /** The operator's own endpoint takes any model, or those listed; a vendor those of the catalog. */
  models: '*' | readonly string[] | 'catalog'
}

export type ProviderLimits = {
  upstreamConnectTimeoutMs: number
  upstreamHeadersTimeoutMs: number
  upstreamIdleTimeoutMs: number
  upstreamConnectionsMax: number
  upstreamAnswerBytesMax: number
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
function likeOpenAi(endpoint: Endpoint): Provider {
  return openAiCompatible({ ...endpoint, imageFields: () => ({ response_format: 'b64_json' }) })
}

export type Providers = {
  configured: ReadonlyMap<string, Provider>
  sandbox: readonly Provider[]
  close: () => Promise<void>
}

/** Builds each configured provider, and the sandbox. */
export function createProviders(
  endpoints: readonly EndpointConfig[],
  limits: ProviderLimits,
  sandboxRoutesMax: number,
  fetchPublic: FetchPublic,
): Providers {
  const upstreamLimits: UpstreamLimits = {
    headersTimeoutMs: limits.upstreamHeadersTimeoutMs,
    idleTimeoutMs: limits.upstreamIdleTimeoutMs,
    answerBytesMax: limits.upstreamAnswerBytesMax,
  }
  const built = endpoints.map(({ id, baseUrl, keys }) => {
    const { dispatch, dispatchToOrigin, close } = createDispatch(baseUrl, {
      connectTimeoutMs: limits.upstreamConnectTimeoutMs,
      connectionsMax: limits.upstreamConnectionsMax,
    })
    const build = builders[id] ?? likeOpenAi
    const fetchPicture = createFetchPicture({
      fetchPublic,
      dispatchToOrigin,
      baseUrl,
      limits: upstreamLimits,
    })
    const provider = build({ id, dispatch, keys, limits: upstreamLimits, fetchPicture })
    return { provider, close }
  })
  return {
    configured: new Map(built.map(({ provider }) => [provider.id, provider])),
    sandbox: sandboxProviders({
      limits: { ...upstreamLimits, ...limits },
      routesMax: sandboxRoutesMax,
    }),
    close: async () => {
      await Promise.all(built.map(({ close }) => close()))
    },
  }
}

/** The variable that enables a provider; undefined when none does. */
export function settingFor(providerId: string): string | undefined {
  return vendors.find(({ id }) => id === providerId)?.keyVariables[0]
}
