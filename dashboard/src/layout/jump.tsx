import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { addressOf, go } from '../data/place.ts'
import { isFor } from '../data/session.ts'
import { Dialog } from '../elements/dialog.tsx'
import { requestIdIn } from '../elements/find-request.tsx'
import { Icon } from '../elements/icon.tsx'
import { SearchList } from '../elements/search-list.tsx'
import { groups, pages } from '../pages/index.ts'

const isOpen = signal(false)

/** A button that opens the search over the pages. */
export function JumpButton() {
  return (
    <button type="button" class="plain jump" onClick={() => (isOpen.value = true)}>
      <Icon name="search" />
      Go to…
      <kbd>Ctrl K</kbd>
    </button>
  )
}

/** A search over the pages, opened also by Ctrl-K or Command-K; a request's id opens the request. */
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
    <Dialog title="Go to" onClose={() => (isOpen.value = false)}>
      <SearchList
        label="Page or request id"
        placeholder="A page, or a request id"
        options={options}
        optionOf={(text) => {
          const id = requestIdIn(text)
          return id === undefined ? undefined : { id: `/requests/${id}`, text: `Request ${id}` }
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
