import { isOpenAiPath, openAiComplaints } from './openai-facts.ts'

/** Longer answers are not checked. Shorter answers of the same operations are. */
const charactersMax = 4_000_000

/**
 * `fetch` that checks answers on OpenAI's paths against OpenAI's API (openai-facts.ts). Reading the body of
 * an answer that violates OpenAI's API fails at the end of the body. Clients of Anthropic's API get other forms.
 */
export async function checkedFetch(
  address: string | URL | Request,
  init?: RequestInit,
): Promise<Response> {
  const response = await fetch(address, init)
  const { pathname } = new URL(address instanceof Request ? address.url : address)
  const isForAnthropics = new Headers(init?.headers).has('anthropic-version')
  if (response.body === null || isForAnthropics || !isOpenAiPath(pathname)) return response
  // Jobs, which OpenAI does not have, are sent only to a client that asks for one.
  const asksForJob = new Headers(init?.headers).get('prefer')?.includes('respond-async') === true
  if (response.status === 202 && asksForJob) return response
  const { status, statusText, headers } = response
  const decoder = new TextDecoder()
  let text = ''
  const watched = new TransformStream<Uint8Array, Uint8Array>({
    transform: (piece, controller) => {
      if (text.length < charactersMax) text += decoder.decode(piece, { stream: true })
      controller.enqueue(piece)
    },
    flush: () => {
      if (text.length >= charactersMax) return
      const type = headers.get('content-type') ?? ''
      const complaints = openAiComplaints(pathname, { status, type, text })
      if (complaints.length === 0) return
      throw new Error(
        `OpenAI would not answer this: ${complaints.join(' ')} It is: ${text.slice(0, 2000)}`,
      )
    },
  })
  return new Response(response.body.pipeThrough(watched), { status, statusText, headers })
}
