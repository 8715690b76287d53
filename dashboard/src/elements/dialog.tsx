import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import { Icon } from './icon.tsx'

type Props = {
  title: string
  /** Closed by Escape or its button; not while something is under way that must be seen. */
  onClose: () => void
  isFast?: boolean
  children: ComponentChildren
}

/** A dialog above the page, which the browser keeps the focus in. */
export function Dialog({ title, onClose, isFast = false, children }: Props) {
  const element = useRef<HTMLDialogElement>(null)
  const id = useId()
  // At once, so that the focus goes back while the dialog is still there to give it back.
  useLayoutEffect(() => {
    const dialog = element.current!
    const { activeElement: opener } = document
    dialog.showModal()
    return () => {
      dialog.close()
      // It may be gone from the page before the browser gives the focus back.
      const isLost = document.activeElement === document.body
      if (isLost && opener instanceof HTMLElement) opener.focus()
    }
  }, [])
  return (
    <dialog
      ref={element}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault()
        if (!isFast) onClose()
      }}
    >
      <div class="head">
        <h2 id={id}>{title}</h2>
        {!isFast && (
          <button type="button" class="plain small" aria-label="Close" onClick={onClose}>
            <Icon name="close" />
          </button>
        )}
      </div>
      {children}
    </dialog>
  )
}
