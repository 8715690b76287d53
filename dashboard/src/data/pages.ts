import { useEffect, useRef, useState } from 'preact/hooks'
import { useAct, useLoad, type Act, type Loaded } from './load.ts'

/** One page of a list, as the gateway answers it. */
export type ListPage<T> = { data: T[]; next_cursor: string | null }

/** All that has come of a list so far. */
type Pages<T> = Loaded<readonly T[]> & {
  /** Asks for the next page; undefined where there is none. */
  more: Act | undefined
}

/**
 * A list of which pages follow one another; it begins anew when `key` changes. What `ask` gets names
 * the page, as a part of the query: nothing for the first one.
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
    // What comes when the list has begun anew is no part of it.
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
