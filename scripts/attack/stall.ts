import { parseArgs } from 'node:util'
import { bodies, type Body } from './bodies.ts'
import { models, startWatchedGateway, type WatchedGateway } from './watched-gateway.ts'

// node scripts/attack/stall.ts [--megabytes 32] [--only text] [--main src/main.ts]: sends each of
// the bodies to a gateway, tells how long its event loop paused, and fails where that is too long.

/** Pauses that nobody notices; else as many times that of the largest honest body. */
const pauseMs = 100
const honestTimes = 5

/** What one body did to the gateway. */
export type Outcome = { name: string; status: number | string; cpuMs: number; clockMs: number }

/** Sends one body and waits for its answer, at most `timeoutMs`. */
export async function attack(
  { url, key, longestPause }: WatchedGateway,
  { name, path, headers, write }: Body,
  bytes: number,
  timeoutMs = 120_000,
): Promise<Outcome> {
  const body = new Uint8Array(write(bytes))
  await longestPause()
  const status = await fetch(url + path, {
    method: 'POST',
    body,
    headers: { ...headers, authorization: `Bearer ${key}`, 'cache-control': 'no-store' },
    signal: AbortSignal.timeout(timeoutMs),
  }).then(
    async (answer) => {
      await answer.arrayBuffer()
      return answer.status
    },
    (error: unknown) => String(error),
  )
  return { name, status, ...(await longestPause()) }
}

/** What a body may take on this machine, from what honest ones took. */
export function pauseAllowedMs(honest: readonly Outcome[]): number {
  return Math.max(pauseMs, honestTimes * Math.max(0, ...honest.map(({ cpuMs }) => cpuMs)))
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      megabytes: { type: 'string', default: '32' },
      only: { type: 'string', default: '' },
      main: { type: 'string' },
      all: { type: 'boolean', default: false },
    },
  })
  const bytes = Number(values.megabytes) * 1024 * 1024
  const gateway = await startWatchedGateway(values.main)
  const chosen = bodies(models)
  const honest: Outcome[] = []
  const outcomes: Outcome[] = []
  try {
    for (const body of chosen) {
      if (!body.isHonest && !body.name.includes(values.only)) continue
      const outcome = await attack(gateway, body, bytes)
      ;(body.isHonest ? honest : outcomes).push(outcome)
      if (body.isHonest || values.all) tell(outcome)
    }
  } finally {
    await gateway.stop()
  }
  const allowedMs = pauseAllowedMs(honest)
  outcomes.sort((a, b) => b.cpuMs - a.cpuMs)
  for (const outcome of outcomes.slice(0, 20)) tell(outcome)
  const over = outcomes.filter(({ cpuMs }) => cpuMs > allowedMs)
  console.log(
    `${outcomes.length} bodies, ${over.length} over the ${Math.round(allowedMs)} ms allowed`,
  )
  if (over.length > 0) process.exitCode = 1
}

function tell({ name, status, cpuMs, clockMs }: Outcome): void {
  console.log(
    `${cpuMs.toFixed(0).padStart(7)} ms (${clockMs.toFixed(0)} by the clock)  ${status}  ${name}`,
  )
}

if (import.meta.main) await main()
