import type { Server } from 'node:http'
import { Server as NetServer } from 'node:net'
import { setImmediate as pollEnd, setTimeout as sleep } from 'node:timers/promises'

/** Tells whether so long has passed. */
export function flagAfter(delayMs: number): () => boolean {
  let isSet = false
  setTimeout(() => (isSet = true), delayMs).unref()
  return () => isSet
}

const stepMs = 50

/**
 * Lets so long pass in which this process answers: while it is held up, nobody who asks hears of
 * anything. Ends sooner when `isOver`.
 */
export async function runFor(durationMs: number, isOver: () => boolean): Promise<void> {
  for (let leftMs = durationMs; leftMs > 0 && !isOver(); leftMs -= stepMs) {
    await sleep(Math.min(leftMs, stepMs))
    // What came meanwhile is answered.
    await pollEnd()
  }
}

const shortPollMs = 0.25

/**
 * Gives a function that resolves just behind a poll for events that took next to no time and brought no
 * connection, or when `isOver`. Those who wait to be accepted when the port closes are reset: Node takes one of them
 * in a poll, and more come while what else was there is worked on, but not more than twice `waitingMax` polls long.
 */
export function createAcceptWaiting(
  server: Server,
  waitingMax: number,
): (isOver: () => boolean) => Promise<void> {
  let accepted = 0
  const count = () => void accepted++
  server.on('connection', count).on('drop', count)
  return async (isOver) => {
    for (let polls = 0; polls < 2 * waitingMax && !isOver(); polls++) {
      const [startedAt, before] = [performance.now(), accepted]
      await pollEnd()
      if (accepted === before && performance.now() - startedAt < shortPollMs) return
    }
  }
}

/** Closes the port at once; resolves when no connection is left. */
export function closePort(server: Server): Promise<void> {
  return new Promise((resolve) => {
    // Node's server of HTTP would close idle connections at once.
    NetServer.prototype.close.call(server, () => {
      // Ends Node's timer of this server.
      server.close()
      resolve()
    })
  })
}

const closingSweepMs = 25

/**
 * Has connections closed until there are none: each behind its next answer, which says so, or when it is
 * idle and quiet. Sooner, its client may be sending a request.
 */
export async function sweepUntil(closed: Promise<void>, closeSome: () => void): Promise<void> {
  closeSome()
  // Behind a poll: after a turn that took long, what has come meanwhile is read before anything is closed.
  const sweep = setInterval(() => setImmediate(closeSome), closingSweepMs)
  await closed
  clearInterval(sweep)
}
