import type { ComponentChildren } from 'preact'
import type { Loaded } from '../data/load.ts'
import { Failure } from './failure.tsx'
import { Waiting } from './waiting.tsx'

type Props<T> = {
  loaded: Loaded<T>
  /** Text while loading. */
  what?: string
  children: (data: T) => ComponentChildren
}

/** Renders loaded data; before that, a loading message or the error. */
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
