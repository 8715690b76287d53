import type { Server } from 'node:http'
import { Server as NetServer } from 'node:net'
import { setImmediate as pollEnd, setTimeout as sleep } from 'node:timers/promises'

/** Returns a function that reports whether the delay has passed. */
export function flagAfter(delayMs: number): () => boolean {
  let isSet = false
  setTimeout(() => (isSet = true), delayMs).unref()
  return () => isSet
}

const stepMs = 50

/**
 * Waits until the process has been responsive for `durationMs`. Time in which the event loop is
 * blocked does not count, since load balancers get no answer then. Ends early when `isOver`.
 */
export async function runFor(durationMs: number, isOver: () => boolean): Promise<void> {
  for (let leftMs = durationMs; leftMs > 0 && !isOver(); leftMs -= stepMs) {
    await sleep(Math.min(leftMs, stepMs))
    // Requests that arrived during the wait are answered first.
    await pollEnd()
  }
}

const shortPollMs = 0.25

/**
 * Returns a function that resolves after a poll of the event loop that was short and brought no
 * connection, or when `isOver`. Connections that wait to be accepted when the port closes would be
 * reset. Node accepts one connection per poll, so the function waits at most twice `waitingMax` polls.
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

/** Closes the port; resolves when no connection is open. */
export function closePort(server: Server): Promise<void> {
  return new Promise((resolve) => {
    // `http.Server.close` would also close idle connections at once.
    NetServer.prototype.close.call(server, () => {
      // Stops the connection timer of the HTTP server.
      server.close()
      resolve()
    })
  })
}

const closingSweepMs = 25

/**
 * Closes connections until none is open: each after its next response, which announces the end, or when
 * it is idle and quiet. Before that, the client could be sending a request.
 */
export async function sweepUntil(closed: Promise<void>, closeSome: () => void): Promise<void> {
  closeSome()
  // Closes connections after a poll, so that input that arrived during a long turn is read first.
  const sweep = setInterval(() => setImmediate(closeSome), closingSweepMs)
  await closed
  clearInterval(sweep)
}
