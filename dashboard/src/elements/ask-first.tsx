import type { ComponentChildren } from 'preact'
import { useAct } from '../data/load.ts'
import { Dialog } from './dialog.tsx'
import { DialogButton, type ButtonLook } from './dialog-button.tsx'
import { Failure } from './failure.tsx'

type Props = {
  /** The button that asks. */
  button: ButtonLook
  title: string
  /** What it would do. */
  children: ComponentChildren
  /** What the button says that does it. */
  act: string
  /** Does it, and gives what has happened, in words. Throws a Refusal. */
  run: () => Promise<string>
  /** Called with those words, for the page to say them (`Said`). */
  onDone: (said: string) => void
}

/** A button for what cannot be undone: it asks first, and tells the page when it is done. */
export function AskFirst({ button, ...question }: Props) {
  return (
    <DialogButton button={button}>
      {(close) => <Question {...question} onClose={close} />}
    </DialogButton>
  )
}

type QuestionProps = Omit<Props, 'button'> & { onClose: () => void }

function Question({ title, children, act, run, onDone, onClose }: QuestionProps) {
  const doing = useAct(async () => {
    const said = await run()
    onClose()
    onDone(said)
  })
  return (
    <Dialog title={title} onClose={onClose} isFast={doing.isBusy}>
      {children}
      <Failure error={doing.error} />
      <p class="row">
        <button
          type="button"
          class="danger"
          disabled={doing.isBusy}
          onClick={() => void doing.run()}
        >
          {act}
        </button>
        <button type="button" class="plain" disabled={doing.isBusy} onClick={onClose}>
          Cancel
        </button>
      </p>
    </Dialog>
  )
}
