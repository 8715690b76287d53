import { signal } from '@preact/signals'

/** Whether the gateway is unreachable: it is restarting, or the network is down. */
export const isAway = signal(false)
/** Number of times the gateway became reachable again; pages then reload their data. */
export const returns = signal(0)

/** Statuses that a proxy sends when the gateway is down; such answers of the gateway have a request id. */
const gatewayDownStatuses = new Set([502, 504])

/** Records that an answer arrived. Only the gateway's own answers have X-Request-Id. */
export function noteAnswer({ status, headers }: Response): void {
  if (gatewayDownStatuses.has(status) && !headers.has('x-request-id')) return noteSilence()
  if (!isAway.value) return
  isAway.value = false
  returns.value += 1
}

/** Records that no answer arrived. */
export function noteSilence(): void {
  isAway.value = true
}
