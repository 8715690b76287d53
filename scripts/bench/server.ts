import { join } from 'node:path'
import type { Candidate } from './candidates.ts'
import { measuredCore, printedPort, type Child, type Children } from './children.ts'
import { routedModels, start, startGateway } from './gateway.ts'
import { startStores, type Stores } from './stores.ts'
import type { Workload } from './workloads.ts'

/** What runs before the candidates: the mock upstream, and the folder for their files. */
export type Started = {
  children: Children
  folder: string
  upstream: Child
  upstreamPort: number
  /** The folder of another checkout, for the candidate `base`. */
  base: string | undefined
}

/** The key for processes that do not check keys: all except the gateways. */
export const withoutKey = 'bench'

/** A running process under measurement. */
export type Server = {
  candidate: Candidate
  child: Child
  port: number
  model: string
  key: string
  /** A second gateway with its own store, which gets the same load and is measured with the first. */
  twin?: Server
}

/** The process, and its twin if it has one. */
export const withTwin = (server: Server): Server[] =>
  server.twin === undefined ? [server] : [server, server.twin]

/** Starts the process of a candidate for a workload. */
export const startServer = async (
  bench: Started,
  workload: Workload,
  candidate: Candidate,
): Promise<Server> => {
  const model = upstreamModel(workload)
  const { children, upstream, upstreamPort } = bench
  if (candidate === 'direct')
    return { candidate, child: upstream, port: upstreamPort, model, key: withoutKey }
  if (candidate === 'floor') {
    const child = children.start(join(import.meta.dirname, 'floor.ts'), {
      core: measuredCore,
      args: [`http://127.0.0.1:${upstreamPort}`],
    })
    return { candidate, child, port: await printedPort(child), model, key: withoutKey }
  }
  if (candidate === 'koa') {
    const child = children.start(join(import.meta.dirname, 'koa.ts'), { core: measuredCore })
    return { candidate, child, port: await printedPort(child), model, key: withoutKey }
  }
  if (candidate === 'bare' || candidate === 'booked') {
    const options = { core: measuredCore, flags: start.flags, args: [candidate] }
    const child = children.start(join(import.meta.dirname, 'core.ts'), options)
    return { candidate, child, port: await printedPort(child), model, key: withoutKey }
  }
  const options = {
    ...bench,
    stores: await storesOf(candidate),
    remembers: candidate !== 'far',
    workers: candidate === 'workers' ? 2 : 1,
    onBothCores: candidate === 'workers' || candidate === 'replicas',
    limited: candidate === 'limited',
    signsIn: candidate === 'token',
    historyRows: workload.historyRows ?? 0,
    base: candidate === 'base' ? bench.base : undefined,
  }
  const server = async () => ({
    candidate,
    model: gatewayModel(workload, candidate),
    ...(await startGateway(options)),
  })
  return candidate === 'replicas' ? { ...(await server()), twin: await server() } : await server()
}

const storesOf = async (candidate: Candidate): Promise<Stores> => {
  if (candidate === 'shared') return startStores()
  if (candidate !== 'far' && candidate !== 'workers' && candidate !== 'replicas') return {}
  const { redisUrl } = await startStores()
  return { redisUrl }
}

/** Without the gateway the path does not select the vendor's format, so the model's name selects it. */
const upstreamModel = ({ kind, model, wire }: Workload): string =>
  wire && kind === 'stream' ? `${wire}-${model}` : model

const gatewayModel = ({ model, wire }: Workload, candidate: Candidate): string => {
  if (!wire || candidate === 'openai') return `mock/${model}`
  const name = `${wire}-${model}`
  return routedModels[name] ?? name
}
