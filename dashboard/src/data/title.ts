import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'

/** Title of the shown part of a page, such as the name of a key. */
export const partTitle = signal<string | undefined>(undefined)

/** Sets the part's title in the window title while the component is mounted. */
export function useTitle(title: string | undefined): void {
  useEffect(() => {
    partTitle.value = title
    return () => (partTitle.value = undefined)
  }, [title])
}
