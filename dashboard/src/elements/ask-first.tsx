import type { ComponentChildren } from 'preact'
import { useAct } from '../data/load.ts'
import { Dialog } from './dialog.tsx'
import { DialogButton, type ButtonLook } from './dialog-button.tsx'
import { Failure } from './failure.tsx'

type Props = {
  /** The button that opens the confirmation dialog. */
  button: ButtonLook
  title: string
  /** What the action would do. */
  children: ComponentChildren
  /** Label of the button that runs the action. */
  act: string
  /** Runs the action; resolves to a sentence about the result. Throws a Refusal. */
  run: () => Promise<string>
  /** Receives the sentence about the result, which the page shows in `Said`. */
  onDone: (said: string) => void
}

/** A button for an action that cannot be undone: it asks for confirmation first. */
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
    <Dialog title={title} onClose={onClose} isLocked={doing.isBusy}>
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
