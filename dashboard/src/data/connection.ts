import { signal } from '@preact/signals'

/** Whether the gateway is out of reach: it is started anew, or the network is gone. */
export const isAway = signal(false)
/** How often it has come back; what is shown is asked for again then. */
export const returns = signal(0)

/** What a proxy answers that finds no gateway behind it, and the gateway where a provider is in trouble. */
const nobodyThere = new Set([502, 504])

/** Takes note that a request was answered; the gateway's own answers have an id. */
export function noteAnswer({ status, headers }: Response): void {
  if (nobodyThere.has(status) && !headers.has('x-request-id')) return noteSilence()
  if (!isAway.value) return
  isAway.value = false
  returns.value += 1
}

/** Takes note that a request was not answered. */
export function noteSilence(): void {
  isAway.value = true
}
