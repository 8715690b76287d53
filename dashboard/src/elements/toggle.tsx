import type { ComponentChildren } from 'preact'
import { setQuery } from '../data/place.ts'

type Props = {
  isOn: boolean
  /** Query parameters to change. */
  change: Record<string, string | undefined>
  children: ComponentChildren
}

/** A toggle button whose state is in the query of the address. */
export function Toggle({ isOn, change, children }: Props) {
  return (
    <button type="button" class="plain small" aria-pressed={isOn} onClick={() => setQuery(change)}>
      {children}
    </button>
  )
}
