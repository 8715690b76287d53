/** One server-sent event; comments have neither name nor data. */
export type StreamEvent = { name?: string; data?: string; comment?: string }
type Chunk = {
  id?: string
  choices: { index: number; delta: { content?: string | null; images?: unknown[] } }[]
  usage?: { cost: number | null; cost_status: string; completion_tokens: number } | null
}

/**
 * Parses a whole event stream as the WHATWG HTML standard defines, with any line ends.
 *
 * @example
 * const response = await gateway.post('/v1/chat/completions', { ...body, stream: true })
 * expect(readEvents(await response.text()).at(-1)).to.deep.equal({ data: '[DONE]' })
 */
export function readEvents(text: string): StreamEvent[] {
  return text
    .split(/\r?\n\r?\n/)
    .filter((block) => block !== '')
    .map((block) => {
      const lines = block.split(/\r?\n/)
      const all = (field: string) =>
        lines
          .filter((line) => line.startsWith(`${field}:`))
          .map((line) => line.slice(field.length + 1).replace(/^ /, ''))
      const [data, names, comments] = [all('data'), all('event'), all('')]
      return {
        ...(names.length > 0 ? { name: names[0]! } : {}),
        ...(data.length > 0 ? { data: data.join('\n') } : {}),
        ...(comments.length > 0 ? { comment: comments.join('\n') } : {}),
      }
    })
}

/** Chunks of a chat stream, without end mark and errors. */
export function readChunks(text: string): Chunk[] {
  return readEvents(text).flatMap(({ name, data }) =>
    name !== undefined || data === undefined || data === '[DONE]'
      ? []
      : (JSON.parse(data) as Chunk),
  )
}

/** The concatenated text of all chunks. */
export function readText(text: string): string {
  return readChunks(text)
    .flatMap(({ choices }) => choices.map(({ delta }) => delta.content ?? ''))
    .join('')
}
