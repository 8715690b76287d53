import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { Agent, request, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { stringify } from 'yaml'
import { Pool } from 'undici'
import { freePort } from '../../scripts/free-port.ts'
import { chanceFrom, type Chance } from '../support/chance.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { printedKey, startServer, type ServerProcess } from '../support/server-process.ts'
import { until } from '../support/until.ts'

const callersOfEach = 8
const pauseMsMax = 40
const body = JSON.stringify({
  model: 'gpt-5-mini',
  messages: [{ role: 'user', content: 'hello' }],
})

/** Answers by status, and by code of what came instead of one. */
type Outcomes = Map<string, number>

describe('a restart under load', () => {
  let folder: TemporaryFolder
  const servers: ServerProcess[] = []
  before(() => (folder = makeFolder()))
  after(async () => {
    for (const server of servers) server.kill('SIGKILL')
    await Promise.all(servers.map(({ ended }) => ended))
    folder.remove()
  })

  it('fails no request, and refuses connections only while no port is open', async function () {
    this.timeout(60_000)
    const port = await freePort()
    const configFile = join(folder.path, 'gateway.yaml')
    const limits = { drain_notice_ms: 200, drain_quiet_ms: 500, requests_per_minute: 1_000_000 }
    writeFileSync(configFile, stringify({ limits }))
    const variables = { PORT: String(port), CONFIG_FILE: configFile, LOG_LEVEL: 'silent' }
    const start = async () => {
      const server = await startServer({ folder: folder.path, variables })
      servers.push(server)
      return server
    }
    const first = await start()
    const load = startCallers(first.url, printedKey(first)!)
    const { outcomes } = load
    const answered = () => outcomes.get('200') ?? 0
    await until('there is load', () => answered() > 300)
    first.kill('SIGTERM')
    const asked = answered()
    await until('the port is closed', () => outcomes.has('ECONNREFUSED'))
    expect(answered(), 'answers after the signal').to.be.greaterThan(asked)
    // Starts while the first one still finishes what it has begun.
    await start()
    const before = answered()
    await until('there is load again', () => answered() > before + 300)
    await load.stop()
    const { code } = await first.ended
    expect(code).to.equal(0)
    expect([...outcomes.keys()].toSorted()).to.deep.equal(['200', 'ECONNREFUSED'])
  })
})

/** Callers that keep their connections, of two clients, with pauses and without. */
function startCallers(url: string, key: string) {
  const outcomes: Outcomes = new Map()
  const chance = chanceFrom(20_261_122)
  const pool = new Pool(url, { connections: callersOfEach, pipelining: 1 })
  const agent = new Agent({ keepAlive: true })
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const over = new AbortController()
  const ask = [
    async () => {
      const answer = await pool.request({
        method: 'POST',
        path: '/v1/chat/completions',
        headers,
        body,
      })
      await answer.body.dump()
      return answer.statusCode
    },
    () => askWithAgent(`${url}/v1/chat/completions`, agent, headers),
  ]
  const call = async (one: () => Promise<number>, pauses: Chance | undefined): Promise<void> => {
    while (!over.signal.aborted) {
      const outcome = await one().then(String, (error: NodeJS.ErrnoException) => codeOf(error))
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
      if (outcome === 'ECONNREFUSED') await sleep(20)
      else if (pauses !== undefined) await sleep(pauses.below(pauseMsMax))
    }
  }
  const callers = Array.from({ length: callersOfEach }, (_, index) =>
    ask.map((one) => call(one, index % 4 === 0 ? undefined : chance)),
  ).flat()
  return {
    outcomes,
    stop: async () => {
      over.abort()
      await Promise.all(callers)
      agent.destroy()
      await pool.close()
    },
  }
}

function codeOf(error: NodeJS.ErrnoException): string {
  return error.code ?? error.message
}

async function askWithAgent(
  url: string,
  agent: Agent,
  headers: Record<string, string>,
): Promise<number> {
  const asking = request(url, { method: 'POST', agent, headers })
  asking.end(body)
  // What the event `response` comes with.
  const [answer] = (await once(asking, 'response')) as [IncomingMessage]
  answer.resume()
  await once(answer, 'end')
  return answer.statusCode ?? 0
}
