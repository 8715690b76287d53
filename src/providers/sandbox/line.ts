import type { Receiver } from '../transport/dispatch.ts'
import type { Refusal } from './refusal.ts'

const json = { 'content-type': 'application/json' }

export type Line = ReturnType<typeof openLine>

/** The simulated connection of a call; supports pause and abort. */
export function openLine(receiver: Receiver) {
  let over = false
  let resumed: (() => void) | undefined
  let paused = false
  let stopWaiting: (() => void) | undefined
  const cut = (error: unknown) => {
    if (over) return
    over = true
    resumed?.()
    stopWaiting?.()
    receiver.error(error instanceof Error ? error : new Error(String(error)))
  }
  const head = (status: number, headers: Record<string, string>) => {
    if (!over) receiver.head(status, headers)
  }
  const end = () => {
    if (over) return
    over = true
    receiver.end()
  }
  const whole = (status: number, headers: Record<string, string>, text: string, broken = false) => {
    head(status, headers)
    const bytes = Buffer.from(text)
    if (!over && bytes.length > 0)
      receiver.data(broken ? bytes.subarray(0, bytes.length / 2) : bytes)
    if (broken) cut(new Error('The sandbox cuts the answer.'))
    else end()
  }
  receiver.start({
    abort: cut,
    pause: () => {
      paused = true
    },
    resume: () => {
      paused = false
      resumed?.()
    },
  })
  return {
    cut,
    head,
    end,
    html: (text: string) => whole(200, { 'content-type': 'text/html' }, text),
    /** Sends a whole answer, or its first half when `broken`. */
    json: (body: object, broken: boolean) => whole(200, json, JSON.stringify(body), broken),
    refuse: ({ status, body, headers }: Refusal) =>
      whole(status, { ...json, ...headers }, JSON.stringify(body)),
    /** Sends one event unless reading is paused, then yields to the event loop. */
    send: async (text: string) => {
      if (paused && !over) await new Promise<void>((resolve) => (resumed = resolve))
      if (!over) receiver.data(Buffer.from(text))
      await new Promise((resolve) => setImmediate(resolve))
    },
    wait: (delayMs: number) =>
      new Promise<void>((resolve) => {
        if (over) return resolve()
        const timer = setTimeout(resolve, delayMs)
        stopWaiting = () => {
          clearTimeout(timer)
          resolve()
        }
      }),
  }
}
