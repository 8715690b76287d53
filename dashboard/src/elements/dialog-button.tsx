import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'

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
