import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import { Icon } from './icon.tsx'

type Props = {
  title: string
  /** Called by Escape and the close button, unless `isLocked`. */
  onClose: () => void
  isLocked?: boolean
  children: ComponentChildren
}

/** A modal dialog; the browser keeps the focus in it. */
export function Dialog({ title, onClose, isLocked = false, children }: Props) {
  const element = useRef<HTMLDialogElement>(null)
  const id = useId()
  // A layout effect, since the browser can restore the focus only while the dialog is in the document.
  useLayoutEffect(() => {
    const dialog = element.current!
    const { activeElement: opener } = document
    dialog.showModal()
    return () => {
      dialog.close()
      // Needed if the dialog left the document before the browser restored the focus.
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
        if (!isLocked) onClose()
      }}
    >
      <div class="head">
        <h2 id={id}>{title}</h2>
        {!isLocked && (
          <button type="button" class="plain small" aria-label="Close" onClick={onClose}>
            <Icon name="close" />
          </button>
        )}
      </div>
      {children}
    </dialog>
  )
}
