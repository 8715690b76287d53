import fc from 'fast-check'
import type { Attack, Context, Failure, Outcome } from './attack.ts'
import { askOnce } from './connection.ts'
import { createPool } from './pool.ts'
import { errorFaults, logFaults } from './verdict.ts'
import { wireMessage, type WireMessage } from './wire-messages.ts'

const messages = { full: 6000, quick: 150 }
/** Correct statuses for an unknown method or HTTP version. */
const requestErrors = new Set([501, 505])
const concurrent = 256

/** Sends valid and invalid HTTP. The gateway must answer or refuse each request, and close connections. */
export const fuzzWire: Attack = { name: 'wire', isDrawn: true, isHurried: true, run }

async function run({ target, seed, dose }: Context): Promise<Outcome> {
  const logBefore = target.log().length
  const failures: Failure[] = []
  const pool = createPool(Array.from({ length: concurrent }, (_, index) => index))
  let [tried, answered, longestMs] = [0, 0, 0]
  const property = fc.asyncProperty(wireMessage, (message) =>
    pool.run(async () => {
      tried++
      const { what, durationMs, answers } = await attempt(target.url, message)
      answered += answers
      longestMs = Math.max(longestMs, durationMs)
      if (what !== undefined) failures.push({ what, request: message.bytes })
    }),
  )
  await fc.check(property, { seed, numRuns: messages[dose] })
  await pool.idle()
  const logged = logFaults(target.log().slice(logBefore))
  failures.push(...logged.map((what) => ({ what, request: '' })))
  return { tried, failures, figures: { answers: answered, 'longest ms': longestMs.toFixed(0) } }
}

type Attempt = { what: string | undefined; durationMs: number; answers: number }

async function attempt(
  url: string,
  { bytes, isHalfClosed, requestsMax }: WireMessage,
): Promise<Attempt> {
  try {
    const heard = await askOnce(url, bytes, { isHalfClosed })
    const faults = heard.answers.flatMap((answer) => [
      ...(answer.status >= 500 && !requestErrors.has(answer.status)
        ? [`The status is ${answer.status}.`]
        : []),
      ...(answer.status >= 400 && !answer.headers.has('x-request-id')
        ? [`An answer ${answer.status} has no request id.`]
        : []),
      ...errorFaults(answer),
    ])
    if (heard.end === 'timeout') faults.push('The connection stays open.')
    if (heard.answers.length > requestsMax) faults.push('More answers than requests came.')
    return {
      what: faults.length === 0 ? undefined : faults.join(' '),
      durationMs: heard.durationMs,
      answers: heard.answers.length,
    }
  } catch (error) {
    return { what: String(error), durationMs: 0, answers: 0 }
  }
}
