import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'

/** The title of what a page shows now, where that is a part of it. */
export const partTitle = signal<string | undefined>(undefined)

/** Names a part of a page in the title of the window, as long as it is shown. */
export function useTitle(title: string | undefined): void {
  useEffect(() => {
    partTitle.value = title
    return () => (partTitle.value = undefined)
  }, [title])
}
