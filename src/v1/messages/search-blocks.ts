import type { components } from '../../../generated/types.ts'
import type { ThoughtSeal } from '../../core/chat/sealed-thoughts.ts'

type Schemas = components['schemas']
type Seal = Pick<ThoughtSeal, 'close'>

/** The blocks of a search of a vendor with another API, whose data Anthropic cannot read. */
export function searchBlocks(
  { id, query, sources, error }: Schemas['WebSearch'],
  seal: Seal,
): {
  use: Schemas['MessageServerToolUseBlock']
  input: { query: string }
  result: Schemas['MessageSearchedBlock']
} {
  const call = `srvtoolu_${id.replaceAll(/[^\w-]/g, '_')}`
  const results = sources.map((source) => ({
    type: 'web_search_result',
    ...source,
    encrypted_content: seal.close({}),
    page_age: null,
  }))
  const failed = { type: 'web_search_tool_result_error', error_code: 'unavailable' }
  const content = error === undefined ? results : failed
  return {
    use: { type: 'server_tool_use', id: call, name: 'web_search', input: {} },
    input: { query },
    result: { type: 'web_search_tool_result', tool_use_id: call, content },
  }
}

/** Anthropic quotes at most so many characters. */
const citedLengthMax = 150

/** The citations in a block with the text `text`, which begins at `start` of the answer. */
export function citationsOf(
  citations: readonly Schemas['WebCitation'][],
  { text, start }: { text: string; start: number },
  seal: Seal,
) {
  return citations.flatMap(({ url_citation: { start_index, end_index, url, title } }) => {
    const [from, to] = [start_index - start, end_index - start]
    if (from < 0 || to > text.length) return []
    const cited_text = text.slice(from, to).slice(0, citedLengthMax)
    const type = 'web_search_result_location'
    return [{ type, url, title, encrypted_index: seal.close({}), cited_text }]
  })
}
