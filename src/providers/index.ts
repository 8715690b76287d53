import type { Provider } from '../core/route.ts'
import { createDispatch } from './dispatch.ts'
import { openAiCompatible } from './openai-compatible/index.ts'
import type { UpstreamLimits } from './openai-compatible/wire.ts'
import { sandboxProviders } from './sandbox/index.ts'
import { vendors } from './vendors.ts'

/** An endpoint that speaks OpenAI's protocol, as the operator configured it. */
export type EndpointConfig = {
  id: string
  baseUrl: string
  keys: readonly string[]
  /** The operator's own endpoint takes any model, or those listed; a vendor those of the catalog. */
  models: '*' | readonly string[] | 'catalog'
  images: boolean
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
): Providers {
  const upstreamLimits: UpstreamLimits = {
    headersTimeoutMs: limits.upstreamHeadersTimeoutMs,
    idleTimeoutMs: limits.upstreamIdleTimeoutMs,
    answerBytesMax: limits.upstreamAnswerBytesMax,
  }
  const built = endpoints.map(({ id, baseUrl, keys, images, models }) => {
    const { dispatch, close } = createDispatch(baseUrl, {
      connectTimeoutMs: limits.upstreamConnectTimeoutMs,
      connectionsMax: limits.upstreamConnectionsMax,
    })
    const { chat, image } = openAiCompatible({
      id,
      dispatch,
      keys,
      limits: upstreamLimits,
      // Endpoints like OpenAI's answer with an address unless they are asked; GPT image models refuse it.
      ...(models === 'catalog' ? {} : { imageFields: () => ({ response_format: 'b64_json' }) }),
    })
    const provider: Provider = {
      id,
      ...(chat ? { chat } : {}),
      ...(images && image ? { image } : {}),
    }
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
