import type { Queue } from '../bytes/queue.ts'
import type { ChatRequest } from '../core/chat/chat.ts'
import type { ReadSources } from '../core/image/image.ts'
import type { Target } from '../core/model.ts'
import type { Provider } from '../core/route.ts'
import type { ProviderServer } from '../core/trace.ts'
import { vendorOf, vendors } from './index.ts'
import { writeChat } from './openai-compatible/chat-request.ts'
import { plainDialect, plainEmbeddings } from './openai-compatible/dialect.ts'
import { moderationAdapter } from './openai-compatible/moderation.ts'
import { openAiCompatible } from './openai-compatible/vendor.ts'
import { createSandbox, type PlayChat, type Sandbox } from './sandbox/index.ts'
import { modelLister } from './list-models.ts'
import { addressPart } from './vendor.ts'
import { throughCassette } from './transport/cassette.ts'
import { coalesceStreams } from './transport/coalescing.ts'
import type { Endpoint, UpstreamLimits } from './transport/endpoint.ts'
import { createFetchPicture, type FetchPublic } from './transport/fetch-picture.ts'
import type { Dispatch } from './transport/dispatch.ts'
import type { Lines } from './transport/lines.ts'
import type { WrittenChat } from './wire/fields.ts'
import { secretsOfAccount } from './transport/account-tokens.ts'
import { createVendorTexts, keyRemover, type VendorTexts } from './transport/vendor-texts.ts'

/** A vendor, or an OpenAI-compatible endpoint that the operator configured. */
export type EndpointConfig = {
  id: string
  baseUrl: string
  /** The accepted models: `*` for any, a list of names, or `catalog` for a vendor's catalog models. */
  models: '*' | readonly string[] | 'catalog'
  /** The vendor whose models it has, under their names. */
  modelsOf?: string | undefined
  /** Whether the endpoint fetches image URLs of conversations itself, as vendors do; true when absent. */
  fetchesImages?: boolean
  /** Whether connections may only go to public addresses and to the networks that the operator allows. */
  isGuarded?: boolean
}
/** API keys by provider id; several keys of one provider are used in rotation. */
export type ProviderKeys = Readonly<Record<string, readonly string[]>>

type ProviderLimits = {
  upstreamHeadersTimeoutMs: number
  upstreamIdleTimeoutMs: number
  upstreamConnectionsMax: number
  upstreamEndTimeoutMs: number
  upstreamAnswerBytesMax: number
  upstreamJsonBytesMax: number
  taskPollMs: number
  streamCoalescingMs: number
  streamCoalescingBytesMax: number
  streamCoalescingStreamsMin: number
}

export type Providers = {
  configured: ReadonlyMap<string, Provider>
  /** All vendors and the own endpoints, without connections: cassettes answer for them. */
  replayed: () => ReadonlyMap<string, Provider>
  sandbox: Sandbox
  close: () => Promise<void>
}

type Options = {
  endpoints: readonly EndpointConfig[]
  keys: ProviderKeys
  limits: ProviderLimits
  sandboxRoutesMax: number
  pixelQueue: Queue
  fetchPublic: FetchPublic
  readSources: ReadSources
  clock: () => number
  lines: Lines
}

/** Builds the configured providers and those of the sandbox; `close` releases their connections. */
export function createProviders(options: Options): Providers {
  const { endpoints, limits } = options
  const upstreamLimits: UpstreamLimits = {
    headersTimeoutMs: limits.upstreamHeadersTimeoutMs,
    idleTimeoutMs: limits.upstreamIdleTimeoutMs,
    endTimeoutMs: limits.upstreamEndTimeoutMs,
    answerBytesMax: limits.upstreamAnswerBytesMax,
    jsonBytesMax: limits.upstreamJsonBytesMax,
    taskPollMs: limits.taskPollMs,
  }
  const coalescing = coalesceStreams({
    intervalMs: limits.streamCoalescingMs,
    bytesMax: limits.streamCoalescingBytesMax,
    streamsMin: limits.streamCoalescingStreamsMin,
  })
  // Every text is redacted for all keys: a proxy shared by vendors may echo another vendor's key.
  const secrets = secretsIn(options.keys)
  const texts = createVendorTexts(secrets, options.lines.tokens)
  const withoutKeys = keyRemover(secrets, options.lines.tokens)
  const context = { ...options, upstreamLimits, coalescing, texts, withoutKeys }
  const built = endpoints.map((config) => buildOne(config, context))
  return {
    replayed: replayedProviders(context),
    configured: new Map(built.map(({ provider }) => [provider.id, provider])),
    sandbox: createSandbox({
      limits: upstreamLimits,
      coalescing,
      pixelQueue: options.pixelQueue,
      routesMax: options.sandboxRoutesMax,
      playChat,
      clock: options.clock,
    }),
    close: async () => {
      await Promise.all(built.map(({ close }) => close()))
    },
  }
}

/** The providers of cassettes, built when the first one is replayed. */
function replayedProviders(context: BuildContext): Providers['replayed'] {
  let all: ReadonlyMap<string, Provider> | undefined
  const build = () => {
    const own = context.endpoints.filter(({ id }) => vendorOf(id) === undefined)
    const ids = vendors.map(({ id, baseUrl }) => ({ id, baseUrl, models: '*' as const }))
    return [...ids, ...own].map((config) => {
      const unconnected = { ...config, baseUrl: recordedUrlOf(config) }
      const { provider } = buildOne(unconnected, { ...context, lines: noLines })
      return [provider.id, { ...provider, simulated: true as const }] as const
    })
  }
  return () => (all ??= new Map(build()))
}

const refuse: Dispatch = () => {
  throw new Error('A replayed provider has no connections.')
}
const noLines: Pick<Lines, 'open'> = {
  open: () => ({
    dispatch: refuse,
    dispatchUnsigned: refuse,
    hasSpareKey: () => false,
    close: () => Promise.resolve(),
  }),
}

/** The address of a provider in cassettes: the vendor's own, whatever address is configured. */
function recordedUrlOf({ id, baseUrl }: Pick<EndpointConfig, 'id' | 'baseUrl'>): string {
  return vendorOf(id)?.baseUrl.replaceAll(addressPart, 'any') ?? baseUrl
}

type BuildContext = Omit<Options, 'lines'> & {
  lines: Pick<Lines, 'open'>
  texts: VendorTexts
  withoutKeys: (text: string) => string
  upstreamLimits: UpstreamLimits
  coalescing: Endpoint['coalescing']
}

function buildOne(config: EndpointConfig, context: BuildContext) {
  const { id, baseUrl } = config
  const { limits, upstreamLimits, coalescing, fetchPublic, readSources } = context
  const vendor = vendorOf(id)
  const line = context.lines.open({
    providerId: id,
    baseUrl,
    keys: context.keys[id] ?? [],
    keyHeader: vendor?.keyHeader,
    keyScheme: vendor?.keyScheme,
    tokenScope: vendor?.tokenScope,
    badKeyMark: vendor?.badKeyMark,
    limits,
    isGuarded: config.isGuarded === true,
  })
  const through = throughCassette({
    providerId: id,
    baseUrl,
    recordedUrl: recordedUrlOf(config),
    withoutKeys: context.withoutKeys,
  })
  const dispatch = through(line.dispatch)
  const endpoint: Endpoint = {
    id,
    baseUrl,
    dispatch,
    texts: context.texts,
    limits: upstreamLimits,
    coalescing,
    fetchPicture: createFetchPicture({
      fetchPublic,
      dispatch: through(line.dispatchUnsigned),
      throughCassette: through,
      baseUrl,
      limits: upstreamLimits,
    }),
    readSources,
  }
  const provider = {
    ...buildProvider(config, endpoint),
    hasSpareKey: line.hasSpareKey,
    server: serverOf(vendor?.traceName ?? id, baseUrl),
    ...(vendor !== undefined &&
      vendor.listsModels !== false && {
        listModels: modelLister(vendor, { dispatch, texts: context.texts }),
      }),
  }
  return { provider, close: line.close }
}

function secretsIn(keys: ProviderKeys): string[] {
  return Object.entries(keys).flatMap(([id, own]) =>
    vendorOf(id)?.tokenScope === undefined ? own : own.flatMap(secretsOfAccount),
  )
}

/** Name and address of the provider's server for traces. */
function serverOf(name: string, baseUrl: string): ProviderServer {
  const { hostname: host, port, protocol } = new URL(baseUrl)
  const standard = protocol === 'https:' ? 443 : 80
  return { name, host, port: port === '' ? standard : Number(port) }
}

function buildProvider({ id, fetchesImages = true }: EndpointConfig, endpoint: Endpoint): Provider {
  const vendor = vendorOf(id)
  const isVendor = vendor !== undefined && (fetchesImages || vendor.dialect === undefined)
  if (isVendor) return vendor.build(endpoint)
  const dialect = vendor?.dialect ?? plainDialect
  const provider = openAiCompatible({
    ...endpoint,
    dialect: fetchesImages ? dialect : { ...dialect, inlineImages: true },
    embeddingDialect: plainEmbeddings,
  })
  return vendor === undefined ? { ...provider, moderation: moderationAdapter(endpoint) } : provider
}

/** Translates a sandbox request as the simulated vendor's adapter would. */
const playChat: PlayChat = (request, target) => {
  const { provider: id } = target.model.row
  // Problems and warnings must name the vendor, not the sandbox.
  const written = writeChatOf(request, { ...target, provider: { id } })
  return { ...written, thoughtsShown: vendorOf(id)?.thoughtsShown ?? 'always' }
}

/** Translates a chat request to the format of the target's provider, with problems and warnings. */
export function writeChatOf(request: ChatRequest, target: Target): WrittenChat<object> {
  const vendor = vendorOf(target.provider.id)
  return vendor?.writeChat(request, target) ?? writeChat(request, target, plainDialect)
}
