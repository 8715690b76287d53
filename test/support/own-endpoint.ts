import type { Bounds } from '../../src/settings/bounds.ts'
import type { PublicNet } from '../../src/pictures/guarded-fetch.ts'
import { startGateway, type CallOptions, type TestGateway } from './gateway.ts'
import { startUpstream, type Upstream } from './upstream.ts'

type Options = {
  limits?: Record<string, number>
  bounds?: Partial<Bounds>
  /** Additional settings of gateway.yaml. */
  file?: object
  variables?: Record<string, string>
  clock?: () => number
  monotonic?: () => number
  /** Replaces DNS and connections to the internet. */
  publicNet?: PublicNet
  /** Additional members of the provider's entry in gateway.yaml. */
  own?: object
}

/** A gateway with the operator's own OpenAI-compatible server, whose models are called `own/<model>`. */
export type OwnEndpoint = {
  gateway: TestGateway
  upstream: Upstream
  /** Calls own/house-1 with the live key. */
  chat(body?: object, init?: CallOptions): Promise<Response>
  /** The same server and gateway, with a new account, so that tests can share them. */
  inNewAccount(): Promise<OwnEndpoint>
  stop(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** API key of the operator's server. */
export const ownKey = 'sk-own-0123456789abcdef'

/** One try per provider, and a short drain timeout, since a failed test may leave a stream open. */
export const quickLimits = { route_tries_max: 1, drain_timeout_ms: 2000 }

export const hello = [{ role: 'user' as const, content: 'hello' }]

/**
 * Starts a gateway and the operator's server.
 *
 * @example
 * await using own = await startOwnEndpoint({ limits: { chat_timeout_ms: 1000 } })
 * own.upstream.answer(completion('Hello.'))
 * expect((await own.chat({ temperature: 0 })).status).to.equal(200)
 * expect(own.upstream.requests[0]?.body).to.include({ temperature: 0 })
 */
export async function startOwnEndpoint(options: Options = {}): Promise<OwnEndpoint> {
  const { limits = {}, file = {}, variables = {}, own = {}, ...rest } = options
  const upstream = await startUpstream()
  const gateway = await startGateway({
    ...rest,
    variables: { OWN_API_KEY: ownKey, ...variables },
    file: {
      providers: [{ ...ownProvider('own', upstream), ...own }],
      limits: { ...quickLimits, ...limits },
      ...file,
    },
  })
  const stop = async () => {
    await gateway.stop()
    await upstream.stop()
  }
  const withGateway = (through: TestGateway): OwnEndpoint => ({
    gateway: through,
    upstream,
    chat: (body = {}, init = {}) =>
      through.post(
        '/v1/chat/completions',
        { model: 'own/house-1', messages: hello, ...body },
        { key: through.liveKey, ...init },
      ),
    inNewAccount: async () => withGateway(await gateway.inNewAccount()),
    stop,
    [Symbol.asyncDispose]: stop,
  })
  return withGateway(gateway)
}

/** The provider's entry in gateway.yaml. */
export function ownProvider(id: string, { url }: Pick<Upstream, 'url'>): object {
  return {
    id,
    kind: 'openai-compatible',
    base_url: `${url}/v1`,
    api_key_env: 'OWN_API_KEY',
    models: '*',
  }
}
