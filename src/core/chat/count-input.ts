import type { CallContext } from '../caller.ts'
import type { OpenCassette } from '../play-cassette.ts'
import { ProviderFailure } from '../failure.ts'
import { countRequest, type Admit } from '../limits.ts'
import type { RouteTable } from '../route.ts'
import type { ChatInputs } from './chat.ts'
import { checkConversation } from './check.ts'
import { estimateInput } from './estimate.ts'

/** The number of input tokens; `provider` is absent if the gateway estimated it. */
export type InputCount = { tokens: number; provider?: string }

type Parts = { admit: Admit; openCassette: OpenCassette } & Pick<RouteTable, 'routes'>
type Context = Pick<CallContext, 'caller' | 'ending' | 'memory'>

/** Vendors count in a fraction of a second; clients such as Claude Code wait for the count. */
const timeoutMs = 5000

/**
 * Counts the input tokens of a conversation: the vendor of its first route counts them, or else the gateway
 * estimates them. Counted as a request of the caller; nothing is charged. Throws a GatewayError.
 */
export async function countInput(
  { admit, openCassette, routes }: Parts,
  { request, models, native }: ChatInputs,
  { caller, ending, memory }: Context,
): Promise<InputCount> {
  checkConversation(request)
  await countRequest(admit, caller)
  const opened = caller.cassette === undefined ? undefined : await openCassette(caller)
  const { routes: able } = await routes(models, caller)
  const [route] = opened?.plays ? opened.order(able) : able
  const cassette = opened && route && { ...opened, model: route.upstreamModel }
  const verbatim = native && { ...native, isTranslatable: true }
  const prepared = route?.provider.chat?.prepare(request, route, verbatim)
  const signal = AbortSignal.any([ending.signal, AbortSignal.timeout(timeoutMs)])
  const tokens = await prepared?.countInput?.({ signal, memory, cassette }).catch(unlessBroken)
  return tokens === undefined
    ? { tokens: estimateInput(request) }
    : { tokens, provider: route!.provider.id }
}

/** A vendor that does not count, or not now, is no reason to refuse. */
function unlessBroken(error: unknown): undefined {
  if (!(error instanceof ProviderFailure)) throw error
}
