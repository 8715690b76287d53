import type { MessageId } from './json-rpc.ts'

export type ProgressNotification = {
  method: 'notifications/progress'
  params: { progressToken: MessageId; progress: number; total?: number; message: string }
}
/** Reports the progress of one tool call to its client. */
export type Progress = {
  /** Sends a notification; ignored unless `progress` is above the last value. */
  report(progress: number, message: string, total?: number): void
  stop(): void
}
type Options = {
  toolName: string
  /** The client's progress token; without one no notification is sent. */
  token: MessageId | undefined
  notify: (notification: ProgressNotification) => void
  /** Called at each interval; without a token only if `isObserved`. */
  onTick: (elapsedMs: number) => void
  isObserved: boolean
  intervalMs: number
  monotonic: () => number
}

/** Notifies at once, then at every interval until `stop` (docs/tool-protocol.md#progress). */
export function startProgress(options: Options): Progress {
  const { toolName, token, notify, onTick, isObserved, intervalMs, monotonic } = options
  const startedAt = monotonic()
  let last = -1
  const report: Progress['report'] = (progress, message, total) => {
    if (token === undefined || progress <= last) return
    last = progress
    const amounts = total === undefined ? { progress } : { progress, total }
    const params = { progressToken: token, ...amounts, message }
    notify({ method: 'notifications/progress', params })
  }
  report(0, `${toolName} has started.`)
  if (token === undefined && !isObserved) return { report, stop: () => undefined }
  const timer = setInterval(() => {
    const elapsedMs = monotonic() - startedAt
    report(last + 1, `${toolName} has been at work for ${Math.round(elapsedMs / 1000)} s.`)
    onTick(elapsedMs)
  }, intervalMs)
  return { report, stop: () => clearInterval(timer) }
}
