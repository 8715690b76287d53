import { openConnection, type Answer } from './connection.ts'
import type { Request } from './request.ts'

const requestsMax = 200_000

export type Load = {
  /** Keeps each connection busy for a time, at least one request; returns the latency of each answer. */
  run: (forMs: number, check: (answer: Answer) => void) => Promise<number[]>
  close: () => void
}

export const openLoad = async ({
  port,
  connections,
  request,
  nextCounter,
}: {
  port: number
  connections: number
  request: Request
  nextCounter: () => number
}): Promise<Load> => {
  const lanes = await Promise.all(
    Array.from({ length: connections }, async () => ({
      connection: await openConnection(port),
      bytes: request.copy(),
    })),
  )
  return {
    run: async (forMs, check) => {
      const latenciesMs: number[] = []
      const endsAt = performance.now() + forMs
      const keepBusy = async ({ connection, bytes }: (typeof lanes)[number]): Promise<void> => {
        for (let startedAt = performance.now(); ; startedAt = performance.now()) {
          request.stamp(bytes, nextCounter())
          check(await connection.exchange(bytes))
          const endedAt = performance.now()
          latenciesMs.push(endedAt - startedAt)
          if (endedAt >= endsAt || latenciesMs.length >= requestsMax) return
        }
      }
      await Promise.all(lanes.map(keepBusy))
      return latenciesMs
    },
    close: () => {
      for (const { connection } of lanes) connection.close()
    },
  }
}
