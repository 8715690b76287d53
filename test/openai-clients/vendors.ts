import { chatVendors, startVendorGateway } from '../support/chat-vendors.ts'
import type { TestGateway } from '../support/gateway.ts'
import { startOwnEndpoint } from '../support/own-endpoint.ts'
import type { Spoken } from '../support/spoken.ts'
import type { ReceivedRequest, ScriptedAnswer, Upstream } from '../support/upstream.ts'
import { prompts } from './calls.ts'
import { leanVendor, said } from './lean-vendor.ts'

export type TestHouse = { gateway: TestGateway; upstream: Upstream; stop(): Promise<void> }
type Play = (request: ReceivedRequest) => ScriptedAnswer

/** A vendor with minimal answers, three vendors with their own formats, and a model that get requests verbatim. */
export const testVendors = [
  { model: 'own/lean', start: startLean },
  ...[...chatVendors, { ...chatVendors[0]!, model: 'gpt-6.2-sol' }].map(
    ({ id, model, double }) => ({
      model,
      start: async (): Promise<TestHouse> => {
        const { gateway, upstreams, stop } = await startVendorGateway()
        const upstream = upstreams[id]
        upstream.answer(failing(double(answerTo)))
        return { gateway, upstream, stop }
      },
    }),
  ),
]

async function startLean(): Promise<TestHouse> {
  const house = await startOwnEndpoint({ limits: { cache_ttl_seconds: 0 } })
  house.upstream.answer(failing(leanVendor))
  return house
}

/** The answer to a request in the format of any vendor. */
function answerTo(body: Record<string, unknown>): Spoken {
  const text = JSON.stringify(body)
  if (/"tool_result"|"functionResponse"|"role":"tool"|"function_call_output"/.test(text)) {
    return { text: pieces(said.weather) }
  }
  if (text.includes(prompts.weather)) {
    const call = { id: 'call_1', name: 'weather', args: { city: 'Ulm' } }
    return { calls: [call], end: 'tool_calls' }
  }
  if (text.includes(prompts.place)) return { text: [JSON.stringify(said.place)] }
  return { text: pieces(text.includes(prompts.picture) ? said.picture : said.text) }
}

function pieces(text: string): string[] {
  return text.split(/(?<= )/)
}

/** Refuses one prompt, and stops in the middle of the answer to another. */
function failing(play: Play): Play {
  return (request) => {
    const text = JSON.stringify(request.body)
    if (text.includes(prompts.refused)) return { status: 400, body: refusal }
    const answer = play(request)
    if (!text.includes(prompts.endless)) return answer
    const events = [...(answer.pieces as Iterable<string>)]
    const begun = events.findIndex((event) => event.includes('Hello ')) + 1
    return { pieces: events.slice(0, begun), hang: true }
  }
}

const refusal = {
  type: 'error',
  error: { type: 'invalid_request_error', code: 400, status: 'INVALID_ARGUMENT', message: 'No.' },
}
