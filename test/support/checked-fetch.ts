import { isOpenAiPath, openAiComplaints } from './openai-facts.ts'

/** Longer answers are held against OpenAI's words by shorter ones of their kind. */
const charactersMax = 4_000_000

/**
 * As `fetch`, for a gateway: what comes back of a path of OpenAI's is held against what OpenAI itself promises
 * (openai-facts.ts). Who reads an answer that does not keep it gets an error at its end.
 */
export async function checkedFetch(
  address: string | URL | Request,
  init?: RequestInit,
): Promise<Response> {
  const response = await fetch(address, init)
  const { pathname } = new URL(address instanceof Request ? address.url : address)
  if (response.body === null || !isOpenAiPath(pathname)) return response
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
