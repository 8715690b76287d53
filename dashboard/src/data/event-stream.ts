import { away } from './calling.ts'

export type StreamEvent = { name: string; data: string }

/** Yields each server-sent event as it arrives. Throws a Refusal if the connection is lost. */
export async function* eventsOf(
  response: Response,
  signal: AbortSignal,
): AsyncGenerator<StreamEvent> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  let name = ''
  for (;;) {
    const { done, value } = await reader.read().catch((error: unknown) => {
      throw signal.aborted ? error : away()
    })
    if (done) return
    // A picture in base64 is a single line of many chunks, which is searched once.
    if (!value.includes('\n')) {
      rest += value
      continue
    }
    const lines = (rest + value).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      if (line.startsWith('event: ')) name = line.slice('event: '.length).trim()
      if (!line.startsWith('data: ')) continue
      yield { name, data: line.slice('data: '.length).trim() }
      name = ''
    }
  }
}
