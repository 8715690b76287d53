import { expect } from 'chai'
import { callTool, type ClientSession } from './mcp-client.ts'
import type { ReceivedRequest, Upstream } from './upstream.ts'
import { until } from './until.ts'

/**
 * Calls a tool with two clients that both count their requests from 0, and cancels the call of one
 * after the other: each ends its own alone.
 */
export async function cancelInTurn(
  sessions: readonly [ClientSession, ClientSession],
  upstream: Upstream,
  round: number,
): Promise<void> {
  upstream.answer({ hang: true })
  const before = upstream.requests.length
  const of = (index: number): ReceivedRequest | undefined =>
    upstream.requests
      .slice(before)
      .find(({ body }) => JSON.stringify(body).includes(`client ${index} round ${round}`))
  const calls = sessions.map(({ client }, index) => {
    const leaving = new AbortController()
    const messages = [{ role: 'user', content: `client ${index} round ${round}` }]
    const { signal } = leaving
    const ended = callTool(client, 'chat', { model: 'own/house-1', messages }, { signal })
    ended.catch(() => undefined)
    return { ended, leave: () => leaving.abort() }
  })
  await until('both are at work', () => of(0) !== undefined && of(1) !== undefined)
  // The first, in every other round the second: which is the younger must not matter.
  const [first, second] = round % 2 === 0 ? [0, 1] : [1, 0]
  calls[first]!.leave()
  await until('it is ended', () => of(first)!.aborted)
  expect(of(second)!.aborted, `client ${second}`).to.equal(false)
  calls[second]!.leave()
  await until('the other is ended', () => of(second)!.aborted)
  for (const { ended } of calls)
    expect(await ended.catch((error: unknown) => error)).to.be.an('error')
}
