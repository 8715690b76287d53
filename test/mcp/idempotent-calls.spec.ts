import { expect } from 'chai'
import { completion } from '../support/chat-answers.ts'
import { callTool, connectClient, postMessages, textOf } from '../support/mcp-client.ts'
import { countLeft } from '../support/metric.ts'
import { hello, startOwnEndpoint, type OwnEndpoint } from '../support/own-endpoint.ts'
import { pixel } from '../support/pixel.ts'
import { until } from '../support/until.ts'

const chat = { model: 'own/house-1', messages: hello }
const painted = { body: { created: 1, data: [{ b64_json: pixel.split(',')[1] }] } }

let count = 0
/** An idempotency key that no other test uses. */
const newKey = () => `tool-${++count}`

describe('a tool call with an idempotency key', () => {
  let own: OwnEndpoint
  before(async () => {
    own = await startOwnEndpoint({ limits: { cache_ttl_seconds: 0 } })
  })
  after(() => own.stop())

  const message = (key: unknown, name = 'chat', given: object = chat, id = 1) => ({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name, arguments: given, _meta: { idempotencyKey: key } },
  })
  const call = async (...given: Parameters<typeof message>) => {
    const { answer } = await postMessages(own.gateway, message(...given), {
      key: own.gateway.liveKey,
    })
    return answer
  }
  const countRows = async () => (await own.gateway.usage()).length

  it('is replayed with its result at no cost, and marked as replayed', async () => {
    for (const [name, given, answer] of [
      ['chat', chat, completion('Hi.')],
      ['generate-image', { model: 'own/painter', prompt: 'a fox' }, painted],
    ] as const) {
      const key = newKey()
      own.upstream.answer(answer)
      const before = await countRows()
      const { result: first } = await call(key, name, given)
      expect(first).to.not.have.property('isError')
      expect(first!['_meta']).to.have.all.keys('requestId')
      const { result: again, id } = await call(key, name, given, 7)
      expect(id).to.equal(7)
      expect(again!.content).to.deep.equal(first!.content)
      const rows = await own.gateway.usage()
      expect(again!['_meta']).to.deep.equal({
        idempotentReplayed: true,
        requestId: rows.at(-1)!.id,
      })
      expect(rows.length - before).to.equal(1)
      expect(own.upstream.requests).to.have.length(1)
    }
  })

  it("is replayed for the SDK's client, which accepts the result", async () => {
    own.upstream.answer(completion('Hi.'))
    const client = await connectClient(own.gateway, own.gateway.liveKey)
    const params = { name: 'chat', arguments: chat, _meta: { idempotencyKey: newKey() } }
    const first = await client.callTool(params)
    const again = await client.callTool(params)
    expect(again.content).to.deep.equal(first.content)
    expect(again['_meta']).to.include({ idempotentReplayed: true })
    expect(own.upstream.requests).to.have.length(1)
    // Tools that cost nothing ignore the idempotency key.
    const listed = { name: 'list-image-models', _meta: { idempotencyKey: newKey() } }
    expect((await client.callTool(listed))['_meta']).to.have.all.keys('requestId')
    expect(textOf(await callTool(client, 'chat', chat))).to.contain('Hi.')
    await client.close()
  })

  it('fails if the key was used for another call, or is in use', async () => {
    const key = newKey()
    own.upstream.answer(completion('Hi.'))
    const { answers } = await postMessages(
      own.gateway,
      [message(key), message(key, 'chat', chat, 2)],
      { key: own.gateway.liveKey },
    )
    const refused = answers.find(({ result }) => result?.isError === true)
    expect(textOf(refused!.result!)).to.contain('still being answered')
    const other = await call(key, 'chat', { ...chat, temperature: 0 })
    expect(other.result!.isError).to.equal(true)
    expect(textOf(other.result!)).to.contain('used for another request')
    const tool = await call(key, 'generate-image', { prompt: 'a fox' })
    expect(textOf(tool.result!)).to.contain('used for tools/call chat')
    expect(own.upstream.requests).to.have.length(1)
  })

  for (const key of ['', 'x'.repeat(300), 'a b', 'schlüssel', 7, ['a'], { a: 1 }]) {
    it(`is refused with the malformed key ${JSON.stringify(key).slice(0, 20)}`, async () => {
      const { error } = await call(key)
      expect(error).to.include({ code: -32602 })
      expect(error!.message).to.contain('_meta.idempotencyKey')
    })
  }

  it('continues when its connection is closed, and when it is cancelled', async () => {
    for (const isCancelled of [false, true]) {
      const key = newKey()
      const gate = Promise.withResolvers<void>()
      own.upstream.answer({ ...completion('Hi.'), after: gate.promise })
      const left = await countLeft(own.gateway)
      const leaving = new AbortController()
      const init = { key: own.gateway.liveKey, signal: leaving.signal }
      const sent = own.gateway.post('/mcp', message(key), init).catch(() => undefined)
      await until('the upstream call', () => own.upstream.requests.length === 1)
      const params = { requestId: 1 }
      const notification = { jsonrpc: '2.0', method: 'notifications/cancelled', params }
      if (isCancelled) await own.gateway.post('/mcp', notification, { key: own.gateway.liveKey })
      else leaving.abort()
      await left.until(1)
      gate.resolve()
      await sent
      expect(own.upstream.requests[0]!.aborted).to.equal(false)
      await until(
        'the call has ended',
        async () => !JSON.stringify(await call(key)).includes('still'),
      )
      expect(own.upstream.requests).to.have.length(1)
    }
  })
})
