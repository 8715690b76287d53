import type { ComponentChildren } from 'preact'
import { useAct } from '../data/load.ts'
import { Dialog } from './dialog.tsx'
import { Failure } from './failure.tsx'

type Props = {
  title: string
  /** What it would do. */
  children: ComponentChildren
  /** What the button says that does it. */
  act: string
  /** Throws a Refusal. */
  run: () => Promise<void>
  onClose: () => void
}

/** Asks before something is done that cannot be undone. */
export function Question({ title, children, act, run, onClose }: Props) {
  const doing = useAct(async () => {
    await run()
    onClose()
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
          Leave it
        </button>
      </p>
    </Dialog>
  )
}
