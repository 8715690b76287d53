import { useEffect } from 'preact/hooks'
import { addressOf, go } from '../data/place.ts'
import { Field } from './field.tsx'

/** The id of a request within a text, as an error or a log tells it; undefined where there is none. */
export function requestIdIn(text: string): string | undefined {
  return /\breq_[0-9a-f]{32}\b/.exec(text)?.[0]
}

function openRequest(id: string): void {
  go(addressOf(`/requests/${encodeURIComponent(id)}`))
}

/** Opens the row of a request whose id is pasted where no field has the focus. */
export function usePastedRequest(): void {
  useEffect(() => {
    const paste = (event: ClipboardEvent) => {
      const { target } = event
      const isField = target instanceof Element && target.closest('input, textarea, select')
      const id = isField ? undefined : requestIdIn(event.clipboardData?.getData('text') ?? '')
      if (id !== undefined) openRequest(id)
    }
    document.addEventListener('paste', paste)
    return () => document.removeEventListener('paste', paste)
  }, [])
}

/** A field that opens the row of a request, whenever that was; one that is pasted opens at once. */
export function FindRequest({ onFound }: { onFound?: () => void }) {
  const open = (id: string, field: HTMLInputElement) => {
    field.value = ''
    onFound?.()
    openRequest(id)
  }
  return (
    <form
      class="find"
      role="search"
      onSubmit={(event) => {
        event.preventDefault()
        const field = event.currentTarget.querySelector('input')!
        const id = requestIdIn(field.value) ?? field.value.trim()
        if (id !== '') open(id, field)
      }}
    >
      <Field label="Find a request by its id">
        {(attributes) => (
          <input
            {...attributes}
            title="Paste a request id here, or anywhere on a page"
            placeholder="req_…"
            spellcheck={false}
            autoComplete="off"
            onPaste={(event) => {
              const id = requestIdIn(event.clipboardData?.getData('text') ?? '')
              if (id === undefined) return
              event.preventDefault()
              open(id, event.currentTarget)
            }}
          />
        )}
      </Field>
    </form>
  )
}
