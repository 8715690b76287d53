import type { ComponentChildren } from 'preact'
import { setQuery } from '../data/place.ts'

type Props = {
  isOn: boolean
  /** What it changes in the address. */
  change: Record<string, string | undefined>
  children: ComponentChildren
}

/** A button for a choice that the address keeps, pressed while it is made. */
export function Toggle({ isOn, change, children }: Props) {
  return (
    <button type="button" class="plain small" aria-pressed={isOn} onClick={() => setQuery(change)}>
      {children}
    </button>
  )
}
