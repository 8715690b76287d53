import type { Token } from 'marked'
import type { ComponentChildren } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'

/** Number of characters shown; a page with more would be slow. */
const charactersMax = 100_000
/** Time to parse a text; after that it is shown verbatim. */
const parseMsMax = 10_000

/**
 * A text in Markdown, also while it grows. It may come from anyone: HTML in it is shown verbatim, links lead
 * to the web only, and pictures are links.
 */
export function Markdown({ text }: { text: string }) {
  const shown = text.slice(0, charactersMax)
  const parts = useParts(shown)
  return (
    <div class="markdown">
      {parts === undefined ? <p class="verbatim">{shown}</p> : parts}
      {text.length > charactersMax && (
        <p class="hint">
          Only the first {charactersMax.toLocaleString('en-US')} characters are shown.
        </p>
      )}
    </div>
  )
}

type Parts = ComponentChildren[] | undefined

/** The parsed text; undefined before it is parsed, and when that took too long. */
function useParts(text: string): Parts {
  const [parsed, setParsed] = useState<{ of: string; parts: Parts }>({ of: '', parts: [] })
  const isBusy = useRef(false)
  useEffect(() => {
    if (isBusy.current || parsed.parts === undefined || text === parsed.of) return
    isBusy.current = true
    last = last
      .then(() => parse(text))
      .then((parts) => {
        isBusy.current = false
        setParsed({ of: text, parts })
      })
  }, [text, parsed])
  return parsed.of === '' ? undefined : parsed.parts
}

let worker: Worker | undefined
/** Texts are parsed one after the other. */
let last: Promise<unknown> = Promise.resolve()

const importParser = async () => {
  const loading = Promise.all([import('./markdown-worker.ts'), import('./markdown-parts.tsx')])
  const [worker, parts] = await loading
  return { ...worker, ...parts }
}
let parser: Awaited<ReturnType<typeof importParser>> | undefined

/** Loads what most visits of a page do not need; without it, texts are shown verbatim. */
export async function loadParser() {
  parser ??= await importParser().catch(() => undefined)
  return parser
}

/** A short text of this project in Markdown, shown at once after `loadParser`; its line ends are spaces. */
export function Prose({ text }: { text: string }) {
  const parts = useMemo(() => parser?.partsOf(parser.parseProse(text)) ?? <p>{text}</p>, [text])
  return <div class="markdown">{parts}</div>
}

async function parse(text: string): Promise<Parts> {
  const loaded = await loadParser()
  worker ??= loaded?.startWorker()
  if (loaded === undefined || worker === undefined) return undefined
  const { promise, resolve } = Promise.withResolvers<Parts>()
  const fail = () => {
    worker?.terminate()
    worker = undefined
    resolve(undefined)
  }
  const timer = setTimeout(fail, parseMsMax)
  const ended = new AbortController()
  const { signal } = ended
  const take = ({ data }: MessageEvent<readonly Token[] | undefined>) =>
    resolve(data && loaded.partsOf(data))
  worker.addEventListener('message', take, { signal })
  worker.addEventListener('error', fail, { signal })
  worker.postMessage(text)
  return promise.finally(() => {
    clearTimeout(timer)
    ended.abort()
  })
}
