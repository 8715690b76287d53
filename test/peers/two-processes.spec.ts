import { expect } from 'chai'
import type { components } from '../../generated/types.ts'
import { completion, textChunk } from '../support/chat-answers.ts'
import { readEvents } from '../support/event-stream.ts'
import type { CallOptions, TestGateway } from '../support/gateway.ts'
import { connectClient, postMessages, request, toolCall } from '../support/mcp-client.ts'
import { openMessageStream } from '../support/message-stream.ts'
import { countLeft } from '../support/metric.ts'
import { hello, ownProvider } from '../support/own-endpoint.ts'
import { programPath } from '../support/program-path.ts'
import { startTwo, type TwoProcesses } from '../support/two-processes.ts'
import { until } from '../support/until.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'

/** The documented limit for ending a revoked key on all processes. */
const promisedMs = 2000
/** Disables periodic checks, so that only announcements end calls. */
const never = { keyCacheMs: 600_000, keyRecheckMs: 600_000 }

describe('two processes with one Redis', () => {
  let upstream: Upstream
  let two: TwoProcesses
  let a: TestGateway
  let b: TestGateway
  const settings = (more: { aliases?: Record<string, string> } = {}) => ({
    providers: [ownProvider('own', upstream)],
    ...more,
  })
  before(async function () {
    programPath('redis-server', this)
    upstream = await startUpstream()
    two = await startTwo({
      variables: { OWN_API_KEY: 'sk-own' },
      file: settings(),
      bounds: { ...never, toolProgressIntervalMs: 100 },
    })
    ;({ a, b } = two)
  })
  after(async () => {
    await two?.stop()
    await upstream?.stop()
  })

  const administer = (method: string, path: string, body?: object) =>
    a.fetch(path, {
      method,
      key: a.adminKey,
      headers: { 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  const newKey = async () =>
    (await (
      await administer('POST', '/api/keys', { name: 'x', mode: 'live' })
    ).json()) as components['schemas']['CreatedApiKey']
  const chat = (gateway: TestGateway, key: string, more: object = {}, init: CallOptions = {}) =>
    gateway.post(
      '/v1/chat/completions',
      { model: 'own/house-1', messages: hello, ...more },
      { key, ...init },
    )
  const listen = (gateway: TestGateway, key: string) =>
    openMessageStream((signal) =>
      gateway.fetch('/mcp', { headers: { accept: 'text/event-stream' }, signal, key }),
    )
  const asked = (count: number) =>
    until('the upstream is asked', () => upstream.requests.length === count)
  const hangingCall = (id: number | string, key: string) =>
    postMessages(b, toolCall('chat', { model: 'own/house-1', messages: said(typeof id) }, id), {
      key,
    })
  const cancel = (requestId: unknown, key: string) =>
    postMessages(
      a,
      { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } },
      { key },
    )

  it('end a stream at one process when its key is revoked at the other', async () => {
    const { id, key } = await newKey()
    upstream.answer({ pieces: [textChunk('one')], hang: true })
    const streamed = await chat(b, key, { stream: true })
    const events = await listen(b, key)
    const from = performance.now()
    expect((await administer('DELETE', `/api/keys/${id}`)).status).to.equal(200)
    const last = readEvents(await streamed.text()).at(-1)!
    await events.ended
    expect(performance.now() - from).to.be.below(promisedMs)
    expect(JSON.parse(last.data!)).to.have.nested.property('error.code', 'invalid_api_key')
    expect((await b.fetch('/v1/models', { key })).status).to.equal(401)
  })

  it('refuse a key rotated at the other process, and apply its changed permissions', async () => {
    const { id, key } = await newKey()
    upstream.answer(completion('one'))
    expect((await b.fetch('/v1/models', { key })).status).to.equal(200)
    const none = { limits: { requests_per_minute: 0 } }
    expect((await administer('PATCH', `/api/keys/${id}`, none)).status).to.equal(200)
    await until('the limit applies', async () => (await chat(b, key)).status === 429)
    await administer('POST', `/api/keys/${id}/rotate`, { overlap_minutes: 0 })
    await until(
      'the key has ended',
      async () => (await b.fetch('/v1/models', { key })).status === 401,
    )
  })

  it('apply limits of an account that were set at the other process', async () => {
    const accountId = await a.createAccount()
    const key = await a.createKey('test', { accountId })
    const ask = () => chat(b, key, { model: 'gpt-5-mini', seed: upstream.requests.length })
    expect((await ask()).status).to.equal(200)
    const none = { limits: { requests_per_minute: 0 } }
    expect((await administer('PATCH', `/api/accounts/${accountId}`, none)).status).to.equal(200)
    await until('the limit applies', async () => (await ask()).status === 429)
  })

  it('cancel a tool call in progress at the other process, only for the same key', async () => {
    const left = await countLeft(b)
    const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    upstream.answer(({ body }) => {
      const isText = JSON.stringify(body).includes(said('string')[0]!.content)
      return { ...completion('late'), after: gates[isText ? 1 : 0]!.promise }
    })
    const number = hangingCall(7, b.liveKey)
    const text = hangingCall('7', b.liveKey)
    await asked(2)
    const stranger = await a.createKey('live')
    await cancel(7, stranger)
    await cancel(8, b.liveKey)
    await cancel('7', b.liveKey)
    await left.until(1)
    gates[1]!.resolve()
    expect((await text).answers).to.deep.equal([{}])
    // The announcement of the earlier cancellations has arrived, and has ended no call.
    expect(await left.count()).to.equal(1)
    await cancel(7, b.liveKey)
    await left.until(2)
    gates[0]!.resolve()
    expect((await number).answers).to.deep.equal([{}])
  })

  it('notify clients at one process of calls at the other, at their log level', async () => {
    const own = await a.createAccount()
    const [key, quiet] = [
      await a.createKey('test', { accountId: own }),
      await a.createKey('test', { accountId: own }),
    ]
    const [listening, silenced] = [await listen(b, key), await listen(b, quiet)]
    await postMessages(a, request('logging/setLevel', { level: 'error' }), { key: quiet })
    const call = toolCall('generate-image', { prompt: 'a lake', model: 'gpt-image-2' })
    await postMessages(a, call, { key })
    await until('the call has finished', () => listening.text().includes('"state":"finished"'))
    const states = listening
      .messages()
      .map(({ params }) => (params!['data'] as { state: string }).state)
    expect(states).to.include.members(['started', 'finished'])
    expect(silenced.messages()).to.deep.equal([])
    listening.leave()
    silenced.leave()
  })

  it('apply new settings after a reload at the other process, and notify tool clients', async () => {
    // Rewrites the file of `b`, because each replica reads its own file.
    const reader = b
    const client = await connectClient(b)
    const { ToolListChangedNotificationSchema } = await import('@modelcontextprotocol/sdk/types.js')
    let notifications = 0
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
      notifications++
    })
    const auditBefore = await reloadsIn(a)
    let reloads = 0
    // Repeats the reload, because the client's subscription takes effect after a moment.
    await until('the client is notified', async () => {
      reader.rewrite(settings({ aliases: { house: `own/house-${++reloads}` } }))
      expect((await a.reload()).status).to.equal(200)
      return notifications > 0
    })
    await until(
      'the last settings are loaded',
      () => b.logText().split('"reloaded"').length > reloads,
    )
    upstream.answer({ body: { choices: [] }, status: 400 })
    await chat(b, b.liveKey, { model: 'house' })
    expect(upstream.requests.at(-1)!.body).to.have.property('model', `house-${reloads}`)
    expect(await reloadsIn(a)).to.equal(auditBefore + reloads)
    await client.close()
  })
})

/** Calls with equal content share a cached answer. */
const said = (content: string) => [{ role: 'user', content }]

/** Number of reloads in the audit log. */
async function reloadsIn({ db }: TestGateway): Promise<number> {
  const rows = await db
    .selectFrom('audit_events')
    .select('id')
    .where('action', '=', 'settings.reload')
    .execute()
  return rows.length
}
