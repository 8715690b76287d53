import { useEffect } from 'preact/hooks'
import { addressOf, go } from '../data/place.ts'
import { Field } from './field.tsx'

/** The first request id in a text, such as an error message or a log line; undefined if no id is found. */
export function requestIdIn(text: string): string | undefined {
  return /\breq_[0-9a-f]{32}\b/.exec(text)?.[0]
}

function openRequest(id: string): void {
  go(addressOf(`/requests/${encodeURIComponent(id)}`))
}

/** Opens a request when its id is pasted outside of any field. */
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

/** A search field for the id of a request of any age; a pasted id opens the request at once. */
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
