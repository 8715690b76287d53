import { setTimeout } from 'node:timers/promises'
import type { Receiver } from '../transport/dispatch.ts'

type Wording = { code?: string; param?: string; retryAfterSeconds?: number | undefined }

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
    /** Sends one event unless reading is paused, then yields to the event loop. */
    send: async (text: string) => {
      if (paused && !over) await new Promise<void>((resolve) => (resumed = resolve))
      data(Buffer.from(text))
      await new Promise((resolve) => setImmediate(resolve))
    },
    wait: (delayMs: number) =>
      setTimeout(delayMs, undefined, { signal: stopped.signal }).catch(() => undefined),
  }
}

/** Sends an error answer in OpenAI's format. */
export function refuse(line: Line, status: number, message: string, wording: Wording = {}): void {
  const { code = null, param = null, retryAfterSeconds = status === 429 ? 1 : undefined } = wording
  const seconds = String(retryAfterSeconds)
  const headers = retryAfterSeconds === undefined ? {} : { 'retry-after': seconds }
  const error = { message, type: 'sandbox_error', param, code }
  line.json({ error }, false, status, headers)
}
