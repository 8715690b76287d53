import { chatVendors, startVendorGateway, type VendorGateway } from './chat-vendors.ts'
import type { Spoken } from './spoken.ts'

type Body = Record<string, unknown>
export type SearchVendor = {
  id: keyof VendorGateway['upstreams']
  model: string
  /** Nano-dollars of 100 input and 10 output tokens. */
  tokensNanoUsd: number
  /** Nano-dollars that the two searches of `searched` cost, and how many the vendor charges. */
  searchesNanoUsd: number
  searches: number
}

export const searchVendors: readonly SearchVendor[] = [
  vendor('openai', 'gpt-6.1-sol', { tokens: 100 * 2000 + 10 * 10_000, each: 10_000_000 }),
  vendor('anthropic', 'claude-sonnet-4-6', { tokens: 100 * 3000 + 10 * 15_000, each: 10_000_000 }),
  vendor('google', 'gemini-3-flash-preview', { tokens: 100 * 500 + 10 * 3000, each: 14_000_000 }),
  {
    ...vendor('google', 'gemini-2.5-flash', { tokens: 100 * 300 + 10 * 2500, each: 35_000_000 }),
    searches: 1,
    searchesNanoUsd: 35_000_000,
  },
]

function vendor(
  id: SearchVendor['id'],
  model: string,
  { tokens, each }: { tokens: number; each: number },
): SearchVendor {
  return { id, model, tokensNanoUsd: tokens, searches: 2, searchesNanoUsd: 2 * each }
}

export const pages = {
  harbour: { url: 'https://harbour.example/boats', title: 'Boats of the harbour' },
  tides: { url: 'https://tides.example/today', title: 'Tides' },
}
export const text = 'Grüße! Two boats 🚤🚤 lie in the harbour, until the tide turns at noon.'
const end = text.indexOf(',')
const noon = text.indexOf('at noon')
/** An answer after two searches, whose text has sources. */
export const searched: Spoken = {
  text: [text],
  counts: { input: 100, output: 10 },
  searches: [
    { query: 'boats in the harbour', pages: [pages.harbour] },
    { query: 'tide today', pages: [pages.tides] },
  ],
  citations: [
    { from: 7, to: end, ...pages.harbour },
    { from: noon, to: noon + 7, ...pages.tides },
  ],
}
/** The sources as the chat API and the Responses API give them. */
export const cited = searched.citations!.map(({ from, to, url, title }) => {
  return { start_index: from, end_index: to, url, title }
})

export type SearchHouse = VendorGateway & {
  /** Makes all vendors answer so. Returns the bodies that they get from then on. */
  says(...script: Spoken[]): Body[]
}

export async function startSearchHouse(file: object = {}): Promise<SearchHouse> {
  const house = await startVendorGateway(file)
  return {
    ...house,
    says: (...script) => {
      const sent: Body[] = []
      for (const { id, double } of chatVendors) {
        house.upstreams[id].answer(
          double((body) => {
            sent.push(body)
            return script[Math.min(sent.length, script.length) - 1]!
          }),
        )
      }
      return sent
    },
  }
}

export const tool = { type: 'web_search' }
export const weather = { type: 'function', name: 'weather', parameters: { type: 'object' } }
export const messageTool = { type: 'web_search_20250305', name: 'web_search' }
export const messages = [{ role: 'user', content: 'How many boats are there?' }]

type Answer = Body & { error?: { message: string; param: string; code: string } }

/** The parameters that the warnings of an answer name. */
export const paramsOf = ({ warnings = [] }: Body) =>
  (warnings as { param: string }[]).map((one) => one.param)

/** Asks each API for an answer with a search. */
export function askers(house: () => SearchHouse) {
  const post = async (path: string, body: object, key = house().gateway.liveKey) => {
    const response = await house().gateway.post(path, body, { key })
    return { status: response.status, body: (await response.json()) as Answer }
  }
  return {
    post,
    respond: (model: string, more: object = {}, key?: string) => {
      const asked = { model, input: 'How many boats are there?', tools: [tool], ...more }
      return post('/v1/responses', asked, key)
    },
    send: (model: string, more: object = {}, key?: string) => {
      const asked = { model, max_tokens: 1000, messages, tools: [messageTool], ...more }
      return post('/v1/messages', asked, key)
    },
    chat: (model: string, options: object) =>
      post('/v1/chat/completions', { model, messages, web_search_options: options }),
  }
}
