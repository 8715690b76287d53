import { expect } from 'chai'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import {
  callTool,
  connectSession,
  postMessages,
  request,
  textOf,
  toolCall,
  type ClientSession,
} from '../support/mcp-client.ts'
import { countLeft } from '../support/metric.ts'
import { startOwnEndpoint, type OwnEndpoint } from '../support/own-endpoint.ts'
import { cancelInTurn } from '../support/same-ids.ts'
import { initialize, sessionCalls, sessionHeader } from '../support/tool-sessions.ts'
import { until } from '../support/until.ts'
import { completion } from '../support/chat-answers.ts'
import type { Upstream } from '../support/upstream.ts'

const header = sessionHeader
const said = (content: string) => ({
  model: 'own/house-1',
  messages: [{ role: 'user', content }],
})

describe('a session of the tool server', () => {
  let own: OwnEndpoint
  let gateway: TestGateway
  let upstream: Upstream
  let calls: ReturnType<typeof sessionCalls>
  before(async () => {
    own = await startOwnEndpoint({
      bounds: { toolProgressIntervalMs: 100, eventStreamsPerSessionMax: 2 },
      file: { allowed_origins: ['https://app.example'] },
    })
    ;({ gateway, upstream } = own)
    calls = sessionCalls(gateway)
  })
  after(() => own.stop())

  let left: Awaited<ReturnType<typeof countLeft>>
  beforeEach(async () => void (left = await countLeft(gateway)))
  /** Starts a call whose upstream answer is pending. */
  const start = async (content: string, id: string | undefined, rpcId: unknown = 1) => {
    const gate = Promise.withResolvers<void>()
    upstream.answer({ ...completion('late'), after: gate.promise })
    const answer = calls.post(toolCall('chat', said(content), rpcId), id)
    await until('the upstream call', () => upstream.requests.length === 1)
    return { answer, release: gate.resolve }
  }

  describe('is started by initialize', () => {
    it('with a new id of visible ASCII each time, whatever id was sent', async () => {
      const ids = [
        await calls.begin(),
        await calls.begin(),
        await calls.begin(gateway.liveKey, { [header]: 'old' }),
      ]
      expect(new Set(ids).size).to.equal(3)
      for (const id of ids) expect(id).to.match(/^[\x21-\x7e]{32,128}$/)
    })

    it('and by no other method', async () => {
      for (const message of [request('ping'), request('tools/list'), [initialize]]) {
        expect((await calls.post(message, undefined)).response.headers.get(header)).to.equal(null)
      }
    })

    it('with CORS headers, so that pages of other origins can read and send the id', async () => {
      const origin = 'https://app.example'
      const { response } = await postMessages(gateway, initialize, { headers: { origin } })
      const exposed = response.headers.get('access-control-expose-headers')!.toLowerCase()
      expect(exposed.split(', ')).to.include(header)
      const preflight = await gateway.fetch('/mcp', {
        method: 'OPTIONS',
        key: null,
        headers: { origin, 'access-control-request-method': 'POST' },
      })
      const allowed = preflight.headers.get('access-control-allow-headers')!
      expect(allowed.split(', ')).to.include(header)
    })

    it('for clients of the SDK, which send the id with each request', async () => {
      const { client, transport } = await connectSession(gateway, gateway.testKey)
      expect(transport.sessionId).to.match(/^[\x21-\x7e]{32,128}$/)
      expect((await client.listTools()).tools).to.have.length(5)
      await transport.terminateSession()
      expect(transport.sessionId).to.equal(undefined)
      expect(await client.ping()).to.deep.equal({})
      await client.close()
    })
  })

  describe('with an unknown id is 404, after which clients start a new one:', () => {
    const rows: [name: string, id: () => Promise<string>][] = [
      ['an invented id', async () => 'session-1'],
      ['random bytes', async () => Buffer.alloc(32, 7).toString('base64url')],
      ['an id with a letter changed', async () => changed(await calls.begin(), 3)],
      ['an id with a changed signature', async () => changed(await calls.begin(), 40)],
      ['a truncated id', async () => (await calls.begin()).slice(0, -1)],
      ['an id with a suffix', async () => `${await calls.begin()}=`],
      ['an id of 4000 characters', async () => 'x'.repeat(4000)],
      [
        'an id of another account',
        async () =>
          calls.begin(
            await gateway.createKey('live', { accountId: await gateway.createAccount() }),
          ),
      ],
    ]
    for (const [name, idOf] of rows) {
      it(name, async () => {
        const id = await idOf()
        const { response, answer } = await calls.post(request('tools/list'), id)
        expect(response.status).to.equal(404)
        expect(answer).to.deep.include({ jsonrpc: '2.0', id: null })
        expect(answer.error!.code).to.equal(-32001)
        expect(answer.error!.message).to.match(/^Session not found: .+'initialize'.+\.$/)
        const opened = await calls.listen(id)
        expect(opened.response.status).to.equal(404)
        expect((await calls.end(id)).status).to.equal(404)
      })
    }

    it('but not for a GET without an event stream', async () => {
      const response = await gateway.fetch('/mcp', { headers: { [header]: 'session-1' } })
      expect(response.status).to.equal(200)
    })
  })

  describe('has its own message ids', () => {
    it('for two clients of the SDK with one key and the same ids, a hundred times', async () => {
      const connect = () => connectSession(gateway, gateway.liveKey)
      const two: [ClientSession, ClientSession] = [await connect(), await connect()]
      for (let round = 0; round < 100; round++) await cancelInTurn(two, { left, upstream, round })
      for (const { client } of two) await client.close()
    })

    it('when one client times out, and the other is answered', async () => {
      const [hasty, patient] = [
        await connectSession(gateway, gateway.liveKey),
        await connectSession(gateway, gateway.liveKey),
      ]
      const answered = Promise.withResolvers<void>()
      upstream.answer({ ...completion('at last'), after: answered.promise })
      const waiting = callTool(patient.client, 'chat', said('patient'))
      const leaving = callTool(hasty.client, 'chat', said('hasty'), { timeout: 1000 })
      const leftBy = leaving.then(
        () => expect.fail('It was answered.'),
        (error: Error) => expect(error.message).to.contain('timed out'),
      )
      await until('both upstream calls', () => upstream.requests.length === 2)
      await leftBy
      await left.until(1)
      answered.resolve()
      expect(textOf(await waiting)).to.contain('at last')
      for (const { client } of [hasty, patient]) await client.close()
    })

    it('beside clients of the same key without a session', async () => {
      const id = await calls.begin()
      const [within, without] = [await start('within', id), await start('without', undefined)]
      await calls.cancel(1)
      await left.until(1)
      without.release()
      expect((await without.answer).response.status).to.equal(202)
      await calls.cancel(1)
      await calls.cancel(1, await calls.begin())
      expect(await left.count()).to.equal(1)
      await calls.cancel(1, id)
      await left.until(2)
      within.release()
      expect((await within.answer).response.status).to.equal(202)
    })

    it('beside other keys of the account that send the same session id', async () => {
      const id = await calls.begin()
      const { answer, release } = await start('mine', id)
      const other = await gateway.createKey('live')
      expect((await calls.cancel(1, id, other)).response.status).to.equal(202)
      expect((await calls.end(id, other)).status).to.equal(204)
      expect((await calls.post(request('ping'), id)).response.status).to.equal(200)
      release()
      expect(textOf((await answer).answer.result!)).to.contain('late')
    })

    it('and a cancellation ends all concurrent calls with one id, which are answered separately', async () => {
      const id = await calls.begin()
      const one = await start('twice one', id, 'same')
      const two = await start('twice two', id, 'same')
      await calls.cancel('same', id)
      await left.until(2)
      for (const { release } of [one, two]) release()
      for (const { answer } of [one, two]) expect((await answer).response.status).to.equal(202)
      upstream.answer(({ body }) => completion(JSON.stringify(body).slice(-40)))
      const contents = ['red', 'green', 'blue']
      const answers = await Promise.all(
        contents.map((content) => calls.post(toolCall('chat', said(content), 'same'), id)),
      )
      for (const [index, { answers: own }] of answers.entries()) {
        expect(own.map((one) => one.id)).to.deep.equal(['same'])
        expect(textOf(own[0]!.result!)).to.contain(contents[index])
      }
    })
  })

  it('has a log level of its own', async () => {
    const accountId = await gateway.createAccount()
    const key = await gateway.createKey('test', { accountId })
    const [quiet, loud] = [await calls.begin(key), await calls.begin(key)]
    const streams = await Promise.all([quiet, loud, undefined].map((id) => calls.listen(id, key)))
    await calls.post(request('logging/setLevel', { level: 'error' }), quiet, key)
    const args = { ...said('hello'), model: 'gpt-5.2' }
    await calls.post(toolCall('chat', args), loud, key)
    await Promise.all(streams.slice(1).map((stream) => stream.untilMessages(2)))
    expect(streams[0]!.messages()).to.deep.equal([])
    for (const stream of streams) stream.leave()
  })

  it('ends its own oldest event stream at its limit', async () => {
    const [id, other] = [await calls.begin(), await calls.begin()]
    const others = [await calls.listen(other), await calls.listen(undefined)]
    const first = await calls.listen(id)
    const rest = [await calls.listen(id)]
    for (let count = 0; count < 20; count++) {
      const oldest = count === 0 ? first : rest.shift()!
      rest.push(await calls.listen(id))
      await oldest.ended
    }
    gateway.announceToolsChanged()
    for (const stream of [...others, ...rest]) {
      expect(await stream.untilMessages(1)).to.have.length(1)
      stream.leave()
    }
  })

  describe('after DELETE', () => {
    it('has no event streams, calls and log level, but other sessions keep theirs', async () => {
      const [id, other] = [await calls.begin(), await calls.begin()]
      const [stream, kept] = [await calls.listen(id), await calls.listen(other)]
      const own = await start('its call', id)
      const foreign = await start('a call of another', other)
      expect((await calls.end(id)).status).to.equal(204)
      await stream.ended
      await left.until(1)
      own.release()
      expect((await own.answer).response.status).to.equal(202)
      gateway.announceToolsChanged()
      await kept.untilMessages(1)
      kept.leave()
      foreign.release()
      expect(textOf((await foreign.answer).answer.result!)).to.contain('late')
    })

    it('is 404', async () => {
      const id = await calls.begin()
      expect((await calls.end(id)).status).to.equal(204)
      const { response, answer } = await calls.post(request('ping'), id)
      expect([response.status, answer.error!.code]).to.deep.equal([404, -32001])
      expect((await calls.end(id)).status).to.equal(404)
      expect((await calls.post(request('ping'), undefined)).response.status).to.equal(200)
    })

    it('stays ended until too many other sessions have ended', async () => {
      await using other = await startGateway({ bounds: { toolSessionsRememberedMax: 2 } })
      const { begin, end, post } = sessionCalls(other)
      const statusOf = async (id: string) => (await post(request('ping'), id)).response.status
      const [first, second, third] = [await begin(), await begin(), await begin()]
      for (const id of [first, second]) await end(id)
      expect([await statusOf(first), await statusOf(second)]).to.deep.equal([404, 404])
      await end(third)
      expect([await statusOf(first), await statusOf(third)]).to.deep.equal([200, 404])
    })

    it('is unaffected by a DELETE without a session id', async () => {
      const { answer, release } = await start('goes on', undefined)
      expect((await calls.end(undefined)).status).to.equal(204)
      release()
      expect(textOf((await answer).answer.result!)).to.contain('late')
    })
  })

  it('records its cancelled calls with their costs, and logs no failure', async () => {
    const id = await calls.begin()
    const before = (await gateway.usage()).length
    const { answer, release } = await start('given up', id)
    await calls.cancel(1, id)
    release()
    await answer
    expect(gateway.logText()).not.to.contain('tool failed')
    expect((await gateway.usage()).slice(before)[0]).to.include({ face: 'mcp', outcome: 'ok' })
  })
})

/** The id with another letter at this position. */
function changed(id: string, index: number): string {
  const letter = id[index] === 'A' ? 'B' : 'A'
  return id.slice(0, index) + letter + id.slice(index + 1)
}
