import { setImmediate as turn } from 'node:timers/promises'
import { expect } from 'chai'
import { completion } from '../support/chat-answers.ts'
import type { TestGateway } from '../support/gateway.ts'
import { postMessages, textOf, toolCall } from '../support/mcp-client.ts'
import { startOwnEndpoint, type OwnEndpoint } from '../support/own-endpoint.ts'
import { sessionCalls } from '../support/tool-sessions.ts'
import { until } from '../support/until.ts'
import type { Upstream } from '../support/upstream.ts'

const rounds = 40

describe('the answer to a client that has left', () => {
  let own: OwnEndpoint
  let gateway: TestGateway
  let upstream: Upstream
  before(async () => {
    own = await startOwnEndpoint()
    ;({ gateway, upstream } = own)
  })
  after(() => own.stop())

  const call = (content: string) =>
    toolCall('chat', { model: 'own/house-1', messages: [{ role: 'user', content }] })
  const waysToLeave: [how: string, leave: (id: string, leaving: AbortController) => unknown][] = [
    ['cancels', (id) => sessionCalls(gateway).cancel(1, id)],
    ['closes its connection', (_id, leaving) => leaving.abort()],
  ]
  for (const [how, leave] of waysToLeave) {
    it(`is charged once and cached, whenever the client ${how}`, async () => {
      const id = await sessionCalls(gateway).begin()
      for (let round = 0; round < rounds; round++) {
        const content = `${how} ${round}`
        const answered = Promise.withResolvers<void>()
        upstream.answer({ ...completion('late'), after: answered.promise })
        const leaving = new AbortController()
        const before = (await gateway.usage()).length
        const headers = { 'mcp-session-id': id }
        const init = { key: gateway.liveKey, headers, signal: leaving.signal }
        const answer = gateway.post('/mcp', call(content), init).catch(() => undefined)
        await until('the upstream call', () => upstream.requests.length === 1)
        // The answer and the client's disconnect alternate in order; the turns between them increase.
        const acts = [() => leave(id, leaving), () => answered.resolve()]
        const [first, second] = round % 2 === 0 ? acts : acts.toReversed()
        const done = first!()
        for (let turns = 0; turns < round; turns++) await turn()
        await Promise.all([done, second!()])
        await answer
        await until('its row', async () => (await gateway.usage()).length > before)
        const row = (await gateway.usage()).at(-1)!
        expect(row).to.include({ outcome: 'ok', cache: 'miss' })
        upstream.answer(completion('made anew'))
        const { answer: again } = await postMessages(gateway, call(content), {
          key: gateway.liveKey,
        })
        expect(textOf(again.result!)).to.contain('late')
        expect(upstream.requests).to.have.length(0)
      }
    })
  }
})
