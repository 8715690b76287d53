import type { ComponentChildren } from 'preact'
import { setQuery } from '../data/place.ts'
import { modeInPlace } from '../data/ranges.ts'

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

/** Chooses between what live keys and what test keys call. */
export function ModeChoice() {
  const mode = modeInPlace()
  return (
    <div class="segments" role="group" aria-label="Live or sandbox">
      <Toggle isOn={mode === 'live'} change={{ mode: undefined }}>
        Live
      </Toggle>
      <Toggle isOn={mode === 'test'} change={{ mode: 'test' }}>
        Sandbox
      </Toggle>
    </div>
  )
}
