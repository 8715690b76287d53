import { once } from 'node:events'
import { Agent, request, type IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'
import { chanceFrom, type Chance } from './chance.ts'

const callersOfEach = 8
const pauseMsMax = 40
const body = JSON.stringify({
  model: 'gpt-5-mini',
  messages: [{ role: 'user', content: 'hello' }],
})

/** Number of answers by status, and of failures by error code. */
export type Outcomes = Map<string, number>

/** Callers with two HTTP clients that keep connections open, with and without pauses. */
export function startCallers(url: string, key: string) {
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
  // The `response` event has one argument, an IncomingMessage.
  const [answer] = (await once(asking, 'response')) as [IncomingMessage]
  answer.resume()
  await once(answer, 'end')
  return answer.statusCode ?? 0
}
