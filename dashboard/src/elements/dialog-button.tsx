import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'

/** A button's text and class; `label` distinguishes several buttons with the same text. */
export type ButtonLook = { text: string; class: string; label?: string }

type ButtonProps = { button: ButtonLook; children: (close: () => void) => ComponentChildren }

/** A button that opens a dialog. */
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
