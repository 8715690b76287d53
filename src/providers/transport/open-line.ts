import { setTimeout } from 'node:timers/promises'
import type { Receiver } from './dispatch.ts'

export type Line = ReturnType<typeof openLine>

/** The simulated connection of a call; supports pause and abort. */
export function openLine(receiver: Receiver) {
  let over = false
  let resumed: (() => void) | undefined
  let paused = false
  const stopped = new AbortController()
  const cut = (error: unknown) => {
    if (over) return
    over = true
    resumed?.()
    stopped.abort()
    receiver.error(error instanceof Error ? error : new Error(String(error)))
  }
  const head = (status: number, headers: Record<string, string>) => {
    if (!over) receiver.head(status, headers)
  }
  const data = (bytes: Buffer) => {
    if (!over && bytes.length > 0) receiver.data(bytes)
  }
  const end = () => {
    if (over) return
    over = true
    receiver.end()
  }
  /** Sends a whole answer, or its first half when `isCut`. */
  const json = (body: object, isCut = false, status = 200, headers = {}) => {
    head(status, { 'content-type': 'application/json', ...headers })
    const bytes = Buffer.from(JSON.stringify(body))
    data(isCut ? bytes.subarray(0, bytes.length / 2) : bytes)
    if (isCut) cut(new Error('The sandbox cuts the answer.'))
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
    html: (text: string) => {
      head(200, { 'content-type': 'text/html' })
      data(Buffer.from(text))
      end()
    },
    json,
    /** Sends a piece, unless reading is paused, then yields to the event loop. */
    send: async (content: string | Buffer) => {
      if (paused && !over) await new Promise<void>((resolve) => (resumed = resolve))
      data(Buffer.from(content))
      await new Promise((resolve) => setImmediate(resolve))
    },
    wait: (delayMs: number) =>
      setTimeout(delayMs, undefined, { signal: stopped.signal }).catch(() => undefined),
  }
}
