import { useEffect, useRef, useState } from 'preact/hooks'
import { useAct, useLoad, type Act, type Loaded } from './load.ts'

/** One page of a list, as the gateway sends it. */
export type ListPage<T> = { data: T[]; next_cursor: string | null }

/** The items of all pages loaded so far. */
type Pages<T> = Loaded<readonly T[]> & {
  /** Loads the next page; undefined after the last page. */
  more: Act | undefined
}

/**
 * Loads a list page by page, and starts again when `key` changes. `ask` gets the query parameters of the
 * page: none for the first page, then the cursor.
 */
export function usePages<T>(
  key: string,
  ask: (page: { cursor?: string }, signal: AbortSignal) => Promise<ListPage<T>>,
): Pages<T> {
  const { data: first, ...loaded } = useLoad(key, (signal) => ask({}, signal))
  const [later, setLater] = useState<readonly ListPage<T>[]>([])
  const begun = useRef(first)
  begun.current = first
  const cursor = (later.at(-1) ?? first)?.next_cursor ?? undefined
  const more = useAct(async () => {
    const next = await ask(cursor === undefined ? {} : { cursor }, new AbortController().signal)
    // Drop a page that arrives after the list was started again.
    if (begun.current === first) setLater((before) => [...before, next])
  })
  useEffect(() => {
    setLater([])
    more.forget()
  }, [first])
  return {
    ...loaded,
    data: first && [...first.data, ...later.flatMap(({ data }) => data)],
    more: cursor === undefined ? undefined : more,
  }
}
