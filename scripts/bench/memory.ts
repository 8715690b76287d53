import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { driverCore, printedPort } from './children.ts'
import { openFrame } from './frame.ts'
import { routedModels, startGateway } from './gateway.ts'
import { processMiB } from './kernel-counters.ts'

// Opens many streams of each vendor format; the client cuts a third of them. Memory must not grow.
// Usage: node scripts/bench/memory.ts [--streams 100000]. Exits with 1 when memory grows.

const { values } = parseArgs({ options: { streams: { type: 'string', default: '100000' } } })
const streams = Number(values.streams)
const connections = 32
const samplesMax = 20
/** The allowed ratio of memory in the last quarter to the second quarter; the first quarter warms up. */
const growthMax = 1.1

const models = ['mock/stream-20', 'mock/burst-200', ...burstModels()]

function burstModels(): string[] {
  return Object.entries(routedModels).flatMap(([name, model]) =>
    name.includes('burst') ? model : [],
  )
}

const { folder, children, fail } = openFrame('memory')

const run = async (): Promise<number[]> => {
  const upstream = children.start(join(import.meta.dirname, 'mock-upstream.ts'), {
    core: driverCore,
  })
  const upstreamPort = await printedPort(upstream)
  const { child, port, key } = await startGateway({ children, folder, upstreamPort })
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  const samplesMiB: number[] = []
  let started = 0
  const work = async (): Promise<void> => {
    while (started < streams) {
      const number = (started += 1)
      await openStream({ agent, port, key, number })
      if (number % Math.ceil(streams / samplesMax) === 0) {
        samplesMiB.push(processMiB(child.processId))
        console.error(`${number} streams: ${Math.round(samplesMiB.at(-1)!)} MiB`)
      }
    }
  }
  await Promise.all(Array.from({ length: connections }, work))
  agent.destroy()
  await children.stop(child)
  await children.stop(upstream)
  return samplesMiB
}

type Stream = { agent: Agent; port: number; key: string; number: number }

/** Reads a stream to its end; cuts every third stream after its first bytes. */
const openStream = ({ agent, port, key, number }: Stream): Promise<void> =>
  new Promise((resolve, reject) => {
    const sent = request({
      agent,
      port,
      host: '127.0.0.1',
      path: '/v1/chat/completions',
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    })
    const leaves = number % 3 === 0
    sent.once('error', (error) => (leaves ? resolve() : reject(error)))
    sent.once('response', (response) => {
      if (response.statusCode !== 200) reject(new Error(`Status ${response.statusCode}.`))
      response.once('error', () => undefined)
      response.once('close', resolve)
      response.once('data', () => {
        if (leaves) sent.destroy()
      })
      response.resume()
    })
    sent.end(
      JSON.stringify({
        model: models[number % models.length],
        messages: [{ role: 'user', content: `Question ${number}` }],
        stream: true,
      }),
    )
  })

const samples = await run().catch(fail)
const quarter = Math.max(1, Math.floor(samples.length / 4))
const mean = (from: number): number =>
  samples.slice(from, from + quarter).reduce((sum, one) => sum + one, 0) / quarter
const growth = mean(samples.length - quarter) / mean(quarter)
console.log(
  `${streams} streams, a third of them cut: ${Math.round(mean(quarter))} MiB, then ` +
    `${Math.round(mean(samples.length - quarter))} MiB (${growth.toFixed(2)}x).`,
)
process.exit(growth <= growthMax ? 0 : 1)
