import { LRUCache } from 'lru-cache'
import { GatewayError } from '../core/error.ts'

type Limits = {
  /** Registrations of one address, or network, within an hour. */
  perAddressMax: number
  /** Registrations of everybody together within an hour. */
  totalMax: number
}

type Window = { count: number; startedAtMs: number }

const windowMs = 3_600_000
/** Origins kept in memory; the least recently used are dropped. */
const entriesMax = 10_000

/**
 * Counts what strangers register, by their origin (`originOf`) and together, in this process. The returned function
 * throws `rate_limit_exceeded`; what it refuses does not count.
 */
export function createRegistrationLimit(
  limits: () => Limits,
  monotonic: () => number,
): (origin: string) => void {
  const known = new LRUCache<string, Window>({ max: entriesMax })
  let all: Window = { count: 0, startedAtMs: monotonic() }
  const current = (window: Window | undefined): Window => {
    const isOver = window === undefined || monotonic() - window.startedAtMs >= windowMs
    return isOver ? { count: 0, startedAtMs: monotonic() } : window
  }
  const assertRoom = ({ count, startedAtMs }: Window, most: number) => {
    if (count < most) return
    const retryAfterSeconds = Math.ceil((startedAtMs + windowMs - monotonic()) / 1000)
    const text = 'Too many clients were registered within the hour. Try again later.'
    throw new GatewayError('rate_limit_exceeded', text, { retryAfterSeconds })
  }
  return (origin) => {
    const { perAddressMax, totalMax } = limits()
    const own = current(known.get(origin))
    all = current(all)
    assertRoom(own, perAddressMax)
    assertRoom(all, totalMax)
    known.set(origin, { ...own, count: own.count + 1 })
    all = { ...all, count: all.count + 1 }
  }
}
