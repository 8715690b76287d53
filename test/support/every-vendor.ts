import type { Bounds } from '../../src/settings/bounds.ts'
import { vendors } from '../../src/providers/index.ts'
import { startGateway, type TestGateway } from './gateway.ts'
import { hello, ownKey, ownProvider } from './own-endpoint.ts'
import { startUpstream, type Upstream } from './upstream.ts'

type Options = {
  /** API key for a vendor. */
  keyOf?: (id: string) => string
  limits?: Record<string, number>
  bounds?: Partial<Bounds>
}

/** A gateway whose vendors, and one endpoint of the operator, are all one upstream. */
export type EveryVendor = {
  gateway: TestGateway
  upstream: Upstream
  ask(model: string, stream: boolean): Promise<Response>
  stop(): Promise<void>
}

export async function startEveryVendor({
  keyOf = () => ownKey,
  limits = {},
  bounds = {},
}: Options = {}): Promise<EveryVendor> {
  const upstream = await startUpstream()
  // A service account would fetch its tokens from the upstream.
  const plain = vendors.filter(({ tokenScope }) => tokenScope === undefined)
  const variables = plain.flatMap(({ id, keyVariables, baseUrlVariable }) => [
    [keyVariables[0]!, keyOf(id)],
    [baseUrlVariable, upstream.url],
  ])
  const gateway = await startGateway({
    variables: {
      OWN_API_KEY: keyOf('own'),
      ...(Object.fromEntries(variables) as Record<string, string>),
    },
    file: {
      providers: [ownProvider('own', upstream)],
      limits: { cache_ttl_seconds: 0, route_tries_max: 1, ...limits },
    },
    bounds: { circuitFailuresMax: 1000, ...bounds },
  })
  return {
    gateway,
    upstream,
    ask: (model, stream) =>
      gateway.post(
        '/v1/chat/completions',
        { model, messages: hello, stream },
        { key: gateway.liveKey },
      ),
    stop: async () => {
      await gateway.stop()
      await upstream.stop()
    },
  }
}
