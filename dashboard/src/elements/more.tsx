import type { Act } from '../data/load.ts'
import { Failure } from './failure.tsx'

type Props = {
  /** Asks for what follows; undefined where nothing does. */
  more: Act | undefined
  /** What the button says. */
  children?: string
}

/** Asks for the next page of a list, and says where that has failed. */
export function More({ more, children = 'Show more' }: Props) {
  if (more === undefined) return null
  return (
    <>
      <Failure error={more.error} />
      {/* It is not disabled meanwhile: the focus would be lost. */}
      <button type="button" class="plain" onClick={() => void more.run()}>
        {more.isBusy ? 'Loading…' : children}
      </button>
    </>
  )
}
