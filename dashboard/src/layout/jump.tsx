import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { addressOf, go } from '../data/place.ts'
import { isFor } from '../data/session.ts'
import { Dialog } from '../elements/dialog.tsx'
import { Icon } from '../elements/icon.tsx'
import { SearchList } from '../elements/search-list.tsx'
import { groups, pages } from '../pages/index.ts'

const isOpen = signal(false)

/** A button that opens the search. */
export function JumpButton() {
  return (
    <button type="button" class="plain jump" onClick={() => (isOpen.value = true)}>
      <Icon name="search" />
      Search…
      <kbd>Ctrl K</kbd>
    </button>
  )
}

/** A search for a page, or for a request by its id; opened also by Ctrl-K or Command-K. */
export function Jump({ onGone }: { onGone: () => void }) {
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
  if (!isOpen.value) return null
  const options = pages
    .filter((page) => isFor(page.for))
    .map(({ path, title, group }) => ({ id: path, text: title, hint: group && groups[group] }))
  return (
    <Dialog title="Search" onClose={() => (isOpen.value = false)}>
      <SearchList
        label="Page or request id"
        placeholder="A page, or a request id"
        options={options}
        optionOf={(text) => {
          const id = requestIdIn(text)
          return id === undefined ? undefined : { id: pathOf(id), text: `Request ${id}` }
        }}
        onPick={({ id }) => {
          isOpen.value = false
          onGone()
          go(addressOf(id))
        }}
      />
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
      if (id !== undefined) go(addressOf(pathOf(id)))
    }
    document.addEventListener('paste', paste)
    return () => document.removeEventListener('paste', paste)
  }, [])
}

/** The first request id in a text, such as an error message or a log line; undefined if no id is found. */
function requestIdIn(text: string): string | undefined {
  return /\breq_[0-9a-f]{32}\b/.exec(text)?.[0]
}

function pathOf(id: string): string {
  return `/requests/${id}`
}
