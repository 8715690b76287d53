import type { Act } from '../data/load.ts'
import { Failure } from './failure.tsx'

type Props = {
  /** Loads the next page; undefined after the last page. */
  more: Act | undefined
  /** Label of the button. */
  children?: string
}

/** A button that loads the next page of a list, and shows why that failed. */
export function More({ more, children = 'Show more' }: Props) {
  if (more === undefined) return null
  return (
    <>
      <Failure error={more.error} />
      {/* It stays enabled while loading: a disabled button would lose the focus. */}
      <button type="button" class="plain" onClick={() => void more.run()}>
        {more.isBusy ? 'Loading…' : children}
      </button>
    </>
  )
}
