import { anthropicDouble, anthropicKey } from './anthropic-upstream.ts'
import { geminiDouble, geminiKey } from './gemini-upstream.ts'
import { startGateway, type TestGateway } from './gateway.ts'
import { openAiDouble, openAiKey } from './openai-upstream.ts'
import type { Spoken } from './spoken.ts'
import {
  startUpstream,
  type ReceivedRequest,
  type ScriptedAnswer,
  type Upstream,
} from './upstream.ts'

type Double = (
  say: (body: Record<string, unknown>) => Spoken,
) => (request: ReceivedRequest) => ScriptedAnswer
/** A vendor with its own protocol. */
export type ChatVendor = { id: 'openai' | 'anthropic' | 'google'; model: string; double: Double }

export const chatVendors: readonly ChatVendor[] = [
  { id: 'openai', model: 'gpt-4.1', double: openAiDouble },
  { id: 'anthropic', model: 'claude-sonnet-4-6', double: anthropicDouble },
  { id: 'google', model: 'gemini-3-flash-preview', double: geminiDouble },
]

/** A gateway, and a test double of each vendor. */
export type VendorGateway = {
  gateway: TestGateway
  upstreams: Record<ChatVendor['id'], Upstream>
  stop(): Promise<void>
}

export async function startVendorGateway(file: object = {}, bounds = {}): Promise<VendorGateway> {
  const [openai, anthropic, google] = await Promise.all([
    startUpstream(),
    startUpstream(),
    startUpstream(),
  ])
  const gateway = await startGateway({
    variables: {
      OPENAI_API_KEY: openAiKey,
      OPENAI_BASE_URL: openai.url,
      ANTHROPIC_API_KEY: anthropicKey,
      ANTHROPIC_BASE_URL: anthropic.url,
      GEMINI_API_KEY: geminiKey,
      GEMINI_BASE_URL: google.url,
    },
    file: { limits: { cache_ttl_seconds: 0, route_tries_max: 1 }, ...file },
    bounds,
  })
  return {
    gateway,
    upstreams: { openai, anthropic, google },
    stop: async () => {
      await gateway.stop()
      await Promise.all([openai.stop(), anthropic.stop(), google.stop()])
    },
  }
}
