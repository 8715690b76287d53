import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
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
  useEffect(() => {
    const dialog = element.current!
    dialog.showModal()
    return () => dialog.close()
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

/** A button: what it says, its look, and what it is called where several say the same. */
export type ButtonLook = { text: string; class: string; label?: string }

type ButtonProps = { button: ButtonLook; children: (close: () => void) => ComponentChildren }

/** A button with a dialog behind it. */
export function DialogButton({ button, children }: ButtonProps) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <button
        type="button"
        class={button.class}
        aria-label={button.label}
        onClick={() => setOpen(true)}
      >
        {button.text}
      </button>
      {isOpen && children(() => setOpen(false))}
    </>
  )
}
