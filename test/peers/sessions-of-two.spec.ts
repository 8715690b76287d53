import { expect } from 'chai'
import { completion } from '../support/chat-answers.ts'
import type { TestGateway } from '../support/gateway.ts'
import { connectSession, postMessages, request, toolCall } from '../support/mcp-client.ts'
import { countLeft } from '../support/metric.ts'
import { ownProvider } from '../support/own-endpoint.ts'
import { cancelInTurn } from '../support/same-ids.ts'
import { programPath } from '../support/program-path.ts'
import { startTwo, type TwoProcesses } from '../support/two-processes.ts'
import { sessionCalls } from '../support/tool-sessions.ts'
import { until } from '../support/until.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'

describe('a tool session on two processes with one Redis', () => {
  let upstream: Upstream
  let two: TwoProcesses
  let a: TestGateway
  let b: TestGateway
  before(async function () {
    programPath('redis-server', this)
    upstream = await startUpstream()
    const file = { providers: [ownProvider('own', upstream)] }
    two = await startTwo({ variables: { OWN_API_KEY: 'sk-own' }, file })
    ;({ a, b } = two)
  })
  after(async () => {
    await two?.stop()
    await upstream?.stop()
  })

  const begin = (key: string) => sessionCalls(a).begin(key)
  const listen = (id: string, key: string) => sessionCalls(b).listen(id, key)
  /** Connects a client that sends calls to one process and other messages to the other process. */
  const connectTo = ([ofCalls, ofOthers]: readonly [TestGateway, TestGateway]) =>
    connectSession(a, a.liveKey, {
      fetch: (_url, init) => {
        const { body } = init ?? {}
        const isCall = typeof body === 'string' && body.includes('"tools/call"')
        return fetch(`${(isCall ? ofCalls : ofOthers).url}/mcp`, init)
      },
    })

  it('begins at one process, is valid at the other, and cancels only its own calls, a hundred times', async () => {
    const sessions = [await connectTo([b, a]), await connectTo([b, a])] as const
    const left = await countLeft(a, b)
    for (let round = 0; round < 50; round++) {
      await cancelInTurn(sessions, { left, upstream, round })
    }
    // The clients call different processes, so that calls with equal ids run at both processes.
    const apart = [sessions[0], await connectTo([a, b])] as const
    for (let round = 50; round < 100; round++) {
      await cancelInTurn(apart, { left, upstream, round })
    }
    for (const { client } of [...sessions, ...apart]) await client.close()
  })

  it('has a log level of its own at both', async () => {
    const key = await a.createKey('test', { accountId: await a.createAccount() })
    const [quiet, loud] = [await begin(key), await begin(key)]
    const streams = [await listen(quiet, key), await listen(loud, key)]
    await sessionCalls(a).post(request('logging/setLevel', { level: 'error' }), quiet, key)
    const messages = [{ role: 'user', content: 'hello' }]
    await postMessages(a, toolCall('chat', { model: 'gpt-5.2', messages }), { key })
    await streams[1]!.untilMessages(2)
    expect(streams[0]!.messages()).to.deep.equal([])
    for (const stream of streams) stream.leave()
  })

  it('ends at both', async () => {
    const key = a.liveKey
    const [id, other] = [await begin(key), await begin(key)]
    const [stream, kept] = [await listen(id, key), await listen(other, key)]
    const left = await countLeft(b)
    const gate = Promise.withResolvers<void>()
    upstream.answer({ ...completion('late'), after: gate.promise })
    const messages = [{ role: 'user', content: 'ends at both' }]
    const call = toolCall('chat', { model: 'own/house-1', messages })
    const answer = sessionCalls(b).post(call, id, key)
    await until('the upstream call', () => upstream.requests.length === 1)
    expect((await sessionCalls(a).end(id, key)).status).to.equal(204)
    await stream.ended
    await left.until(1)
    gate.resolve()
    expect((await answer).response.status).to.equal(202)
    const again = await sessionCalls(b).post(request('ping'), id, key)
    expect(again.response.status).to.equal(404)
    b.announceToolsChanged()
    await kept.untilMessages(1)
    kept.leave()
  })
})
