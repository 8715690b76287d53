import type { ComponentChildren } from 'preact'
import type { Loaded } from '../data/load.ts'
import { Failure } from './failure.tsx'
import { Waiting } from './waiting.tsx'

type Props<T> = {
  loaded: Loaded<T>
  /** What is waited for. */
  what?: string
  children: (data: T) => ComponentChildren
}

/** What was asked for, once it has come: until then that it is on its way, or why it has not come. */
export function WhenLoaded<T>({ loaded, what, children }: Props<T>) {
  const { data, error, isLoading, again } = loaded
  return (
    <>
      <Failure error={error} again={again} />
      {data === undefined
        ? isLoading && <Waiting {...(what === undefined ? {} : { what })} />
        : children(data)}
    </>
  )
}
