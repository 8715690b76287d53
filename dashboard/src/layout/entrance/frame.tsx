import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Refusal } from '../../data/api.ts'
import { textsOf } from '../../data/form.ts'
import { useAct } from '../../data/load.ts'

type Props = { title: string; children: ComponentChildren }

/** The card in which people come in. */
export function Door({ title, children }: Props) {
  useEffect(() => {
    document.title = `${title} · Model-Access Gateway`
  }, [title])
  return (
    <main class="entrance">
      <p class="product">Model-Access Gateway</p>
      <h1>{title}</h1>
      {children}
    </main>
  )
}

type FormProps = {
  /** What the button says. */
  submit: string
  /** Throws a Refusal. */
  send: (form: Record<string, string>) => Promise<void>
  children: (faultAt: (param: string) => string | undefined) => ComponentChildren
}

/** A form that lets somebody in; where there were too many attempts it says how long to wait. */
export function DoorForm({ submit, send, children }: FormProps) {
  const element = useRef<HTMLFormElement>(null)
  const sending = useAct(async (form: FormData) => {
    await send(textsOf(form))
  })
  const waitSeconds = useWait(sending.error)
  useEffect(() => {
    // The first field that is still to be filled in.
    const inputs = [...(element.current?.querySelectorAll('input') ?? [])]
    const first = inputs.find(({ value }) => value === '') ?? inputs.at(-1)
    first?.focus()
  }, [sending.error])
  const { error } = sending
  return (
    <form
      ref={element}
      aria-busy={sending.isBusy}
      onSubmit={(event) => {
        event.preventDefault()
        if (waitSeconds === 0) void sending.run(new FormData(event.currentTarget))
      }}
    >
      {error !== undefined && (
        <p class="failure" role="alert">
          {error.code === 'rate_limit_exceeded' ? 'There were too many attempts.' : error.message}
        </p>
      )}
      {children(sending.faultAt)}
      <button disabled={sending.isBusy || waitSeconds > 0}>
        {waitSeconds > 0 ? `Wait ${waitSeconds} s` : sending.isBusy ? 'One moment…' : submit}
      </button>
    </form>
  )
}

/** For how many seconds nothing may be sent after a refusal. */
function useWait(error: Refusal | undefined): number {
  const [leftSeconds, setLeft] = useState(0)
  useEffect(() => {
    const untilMs = Date.now() + (error?.retryAfterSeconds ?? 0) * 1000
    const tell = () => setLeft(Math.max(0, Math.ceil((untilMs - Date.now()) / 1000)))
    tell()
    const timer = setInterval(tell, 250)
    return () => clearInterval(timer)
  }, [error])
  return leftSeconds
}
