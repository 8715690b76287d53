import type { MessageId } from './json-rpc.ts'

export type ProgressNotification = {
  method: 'notifications/progress'
  params: { progressToken: MessageId; progress: number; total?: number; message: string }
}
/** How a tool tells that it is still at work. */
export type Progress = {
  /** Tells a value that is above the last one; others are not told. */
  report(progress: number, message: string, total?: number): void
  stop(): void
}
type Options = {
  toolName: string
  /** The caller's progress token, if they sent one. */
  token: MessageId | undefined
  notify: (notification: ProgressNotification) => void
  /** Told the same at the same moments, token or not. */
  onTick: (elapsedMs: number) => void
  isObserved: boolean
  intervalMs: number
  clock: () => number
}

/** Notifies at once and then at every interval, until it is stopped (behaviour.md section 7). */
export function startProgress(options: Options): Progress {
  const { toolName, token, notify, onTick, isObserved, intervalMs, clock } = options
  const startedAt = clock()
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
    const elapsedMs = clock() - startedAt
    report(last + 1, `${toolName} has been at work for ${Math.round(elapsedMs / 1000)} s.`)
    onTick(elapsedMs)
  }, intervalMs)
  return { report, stop: () => clearInterval(timer) }
}
