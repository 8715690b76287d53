import type { Spoken } from './spoken.ts'

/** What was searched; the places of a segment are those of UTF-8. */
export function groundingOf({ text = [], searches = [], citations = [] }: Spoken) {
  const pages = searches.flatMap((search) => search.pages)
  const whole = text.join('')
  const bytes = (at: number) => Buffer.byteLength(whole.slice(0, at))
  return {
    webSearchQueries: searches.map(({ query }) => query),
    searchEntryPoint: { renderedContent: '<b>…</b>' },
    groundingChunks: pages.map(({ url, title }) => ({ web: { uri: url, title } })),
    groundingSupports: citations.map(({ from, to, url }) => ({
      segment: {
        ...(from === 0 ? {} : { startIndex: bytes(from) }),
        endIndex: bytes(to),
        text: whole.slice(from, to),
      },
      groundingChunkIndices: [pages.findIndex((page) => page.url === url)],
    })),
  }
}
