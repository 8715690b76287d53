import { useEffect, useState } from 'preact/hooks'
import { useAct, useLoad, type Loaded } from './load.ts'

/** One page of a list, as the gateway answers it. */
export type ListPage<T> = { data: T[]; next_cursor: string | null }

type Pages<T> = Omit<Loaded<ListPage<T>>, 'data'> & {
  items: readonly T[] | undefined
  /** Asks for the next page; undefined where there is none. */
  more: (() => void) | undefined
}

/** A list of which pages follow one another; it begins anew when `key` changes. */
export function usePages<T>(
  key: string,
  ask: (cursor: string | undefined, signal?: AbortSignal) => Promise<ListPage<T>>,
): Pages<T> {
  const first = useLoad(key, (signal) => ask(undefined, signal))
  const [later, setLater] = useState<readonly ListPage<T>[]>([])
  useEffect(() => setLater([]), [first.data])
  const loading = useAct(async () => {
    const next = await ask(last?.next_cursor ?? undefined)
    setLater((before) => [...before, next])
  })
  const last = later.at(-1) ?? first.data
  const hasMore = last !== undefined && last.next_cursor !== null
  return {
    items: first.data && [...first.data.data, ...later.flatMap(({ data }) => data)],
    error: first.error ?? loading.error,
    isLoading: first.isLoading || loading.isBusy,
    again: first.again,
    more: hasMore ? () => void loading.run() : undefined,
  }
}
