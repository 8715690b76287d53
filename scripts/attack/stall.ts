import { parseArgs } from 'node:util'
import { bodies, type Body } from './bodies.ts'
import type { Pause } from './loop-watch.ts'
import { models, startWatchedGateway, type WatchedGateway } from './watched-gateway.ts'

// node scripts/attack/stall.ts [--megabytes 32] [--only text] [--main src/main.ts]: sends each of
// the bodies to a gateway, prints how long its event loop was blocked, and exits with 1 when that is too long.

/** Bodies may cause a pause of this length, or of `honestTimes` the longest pause of honest bodies. */
const pauseMs = 100
const honestTimes = 5

/** The answer to the body at the last size that was sent, and the longest pause at any size. */
export type Outcome = { name: string; bytes: number; status: number | string } & Pause

/** A body that is refused as too large (413) is sent again at half its size, at most this often. */
const halvingsMax = 10

/** Sends one body and waits for its answer; halves the body while the answer is 413. */
export async function attack(
  gateway: WatchedGateway,
  body: Body,
  bytesMax: number,
): Promise<Outcome> {
  const { name } = body
  let [cpuMs, clockMs] = [0, 0]
  for (let halvings = 0, bytes = bytesMax; ; halvings++, bytes = Math.floor(bytes / 2)) {
    const { status, pause } = await send(gateway, body, bytes)
    cpuMs = Math.max(cpuMs, pause.cpuMs)
    clockMs = Math.max(clockMs, pause.clockMs)
    if (status !== 413 || halvings === halvingsMax) return { name, bytes, status, cpuMs, clockMs }
  }
}

const answerTimeoutMs = 120_000

async function send(
  { url, key, longestPause }: WatchedGateway,
  { path, headers, write }: Body,
  bytes: number,
): Promise<{ status: number | string; pause: Pause }> {
  const body = new Uint8Array(write(bytes))
  await longestPause()
  const status = await fetch(url + path, {
    method: 'POST',
    body,
    headers: { ...headers, authorization: `Bearer ${key}`, 'cache-control': 'no-cache' },
    signal: AbortSignal.timeout(answerTimeoutMs),
  }).then(
    async (answer) => {
      await answer.arrayBuffer()
      return answer.status
    },
    (error: unknown) => String(error),
  )
  return { status, pause: await longestPause() }
}

/** The pause that a body may cause on this machine, from the pauses of honest bodies. */
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
      if (body.isHonest || values.all) printOutcome(outcome)
    }
  } finally {
    await gateway.stop()
  }
  const allowedMs = pauseAllowedMs(honest)
  outcomes.sort((a, b) => b.cpuMs - a.cpuMs)
  for (const outcome of outcomes.slice(0, 20)) printOutcome(outcome)
  const over = outcomes.filter(({ cpuMs }) => cpuMs > allowedMs)
  console.log(
    `${outcomes.length} bodies, ${over.length} over the ${Math.round(allowedMs)} ms allowed`,
  )
  if (over.length > 0) process.exitCode = 1
}

function printOutcome({ name, bytes, status, cpuMs, clockMs }: Outcome): void {
  const pause = `${cpuMs.toFixed(0).padStart(7)} ms (${clockMs.toFixed(0)} by the clock)`
  console.log(`${pause}  ${status}  ${(bytes / 1024 / 1024).toFixed(2)} MiB  ${name}`)
}

if (import.meta.main) await main()
