import { expect } from 'chai'
import { completion } from './chat-answers.ts'
import { callTool, textOf, type ClientSession } from './mcp-client.ts'
import type { countLeft } from './metric.ts'
import type { Upstream } from './upstream.ts'
import { until } from './until.ts'

type Round = {
  /** Counter of calls that continue after their caller has disconnected, over all rounds. */
  left: Awaited<ReturnType<typeof countLeft>>
  upstream: Upstream
  round: number
}

/**
 * Calls a tool with two clients whose request ids both start at 0, and cancels one call. The call of the other
 * client must be answered.
 */
export async function cancelInTurn(
  sessions: readonly [ClientSession, ClientSession],
  { left, upstream, round }: Round,
): Promise<void> {
  const gate = Promise.withResolvers<void>()
  upstream.answer({ ...completion('late'), after: gate.promise })
  const calls = sessions.map(({ client }, index) => {
    const leaving = new AbortController()
    const messages = [{ role: 'user', content: `client ${index} round ${round}` }]
    const { signal } = leaving
    const ended = callTool(client, 'chat', { model: 'own/house-1', messages }, { signal })
    ended.catch(() => undefined)
    return { ended, leave: () => leaving.abort() }
  })
  await until('both are at work', () => upstream.requests.length === 2)
  // Alternates which call is cancelled, so that the order of the calls does not matter.
  const [first, second] = round % 2 === 0 ? [0, 1] : [1, 0]
  calls[first]!.leave()
  await left.until(round + 1)
  gate.resolve()
  expect(textOf(await calls[second]!.ended), `client ${second}`).to.contain('late')
  expect(await calls[first]!.ended.catch((error: unknown) => error)).to.be.an('error')
}
