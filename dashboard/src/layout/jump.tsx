import { signal } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'
import { toRefusal } from '../data/load.ts'
import { addressOf, go } from '../data/place.ts'
import { loadPart } from '../data/version.ts'
import type { Refusal } from '../data/api.ts'
import { Dialog } from '../elements/dialog.tsx'
import { Failure } from '../elements/failure.tsx'
import { Icon } from '../elements/icon.tsx'
import { requestIdIn } from './request-id.ts'
import type { Search } from './search.tsx'

const isOpen = signal(false)

/** A button that opens the search. */
export function JumpButton() {
  return (
    <button type="button" class="plain jump" onClick={() => (isOpen.value = true)}>
      <Icon name="search" />
      Search…
      <kbd>{/\bMac/.test(navigator.userAgent) ? '⌘ K' : 'Ctrl K'}</kbd>
    </button>
  )
}

/** The search, opened also by Ctrl-K or Command-K; its script is loaded when it is first opened. */
export function Jump({ onGone }: { onGone: () => void }) {
  const [part, setPart] = useState<{ Search?: typeof Search; error?: Refusal }>({})
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== 'k') return
      event.preventDefault()
      // Another dialog may hold what the person typed.
      if (document.querySelector('dialog[open]') === null) isOpen.value = true
    }
    document.addEventListener('keydown', press)
    return () => document.removeEventListener('keydown', press)
  }, [])
  useEffect(() => {
    if (!isOpen.value || part.Search !== undefined) return
    loadPart(() => import('./search.tsx')).then(setPart, (thrown: unknown) =>
      setPart({ error: toRefusal(thrown) }),
    )
  }, [isOpen.value])
  if (!isOpen.value) return null
  return (
    <Dialog title="Search" onClose={() => (isOpen.value = false)}>
      <Failure error={part.error} />
      {part.Search !== undefined && (
        <part.Search
          onPick={({ path, run }) => {
            isOpen.value = false
            onGone()
            if (path !== undefined) go(addressOf(path))
            run?.()
          }}
        />
      )}
    </Dialog>
  )
}

/** Opens a request when its id is pasted outside of any field. */
export function usePastedRequest(): void {
  useEffect(() => {
    const paste = (event: ClipboardEvent) => {
      const { target } = event
      const isField = target instanceof Element && target.closest('input, textarea, select')
      const id = isField ? undefined : requestIdIn(event.clipboardData?.getData('text') ?? '')
      if (id !== undefined) go(addressOf(`/requests/${id}`))
    }
    document.addEventListener('paste', paste)
    return () => document.removeEventListener('paste', paste)
  }, [])
}
