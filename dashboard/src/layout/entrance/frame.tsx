import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Refusal } from '../../data/api.ts'
import { textsOf } from '../../data/form.ts'
import { Logo } from '../../elements/logo.tsx'
import { useAct } from '../../data/load.ts'

type Props = { title: string; children: ComponentChildren }

/** The card around the forms of the sign-in pages. */
export function Door({ title, children }: Props) {
  useEffect(() => {
    document.title = `${title} · Model-Access Gateway`
  }, [title])
  return (
    <main class="entrance">
      <p class="product">
        <Logo />
      </p>
      <h1>{title}</h1>
      {children}
    </main>
  )
}

type FormProps = {
  /** Label of the button. */
  submit: string
  /** Sends the form. Throws a Refusal. */
  send: (form: Record<string, string>) => Promise<void>
  children: (faultAt: (param: string) => string | undefined) => ComponentChildren
}

/** A sign-in form; after too many attempts it shows how long to wait. */
export function DoorForm({ submit, send, children }: FormProps) {
  const element = useRef<HTMLFormElement>(null)
  const sending = useAct(async (form: FormData) => {
    await send(textsOf(form))
  })
  const waitSeconds = useWait(sending.error)
  useEffect(() => {
    // Focuses the first empty field, or the last field if all are filled in.
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
          {error.code === 'rate_limit_exceeded' ? 'Too many attempts.' : error.message}
        </p>
      )}
      {children(sending.faultAt)}
      <button disabled={sending.isBusy || waitSeconds > 0}>
        {waitSeconds > 0 ? `Wait ${waitSeconds} s` : sending.isBusy ? 'One moment…' : submit}
      </button>
    </form>
  )
}

/** Seconds to wait before the form can be sent again. */
function useWait(error: Refusal | undefined): number {
  const [leftSeconds, setLeft] = useState(0)
  useEffect(() => {
    const untilMs = Date.now() + (error?.retryAfterSeconds ?? 0) * 1000
    const update = () => setLeft(Math.max(0, Math.ceil((untilMs - Date.now()) / 1000)))
    update()
    const timer = setInterval(update, 250)
    return () => clearInterval(timer)
  }, [error])
  return leftSeconds
}
