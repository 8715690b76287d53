import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { expect } from 'chai'
import { completion } from '../support/chat-answers.ts'
import type { TestGateway } from '../support/gateway.ts'
import {
  callTool,
  connectClient,
  picturesOf,
  postMessages,
  textOf,
  toolCall,
} from '../support/mcp-client.ts'
import { countLeft } from '../support/metric.ts'
import { openMessageStream } from '../support/message-stream.ts'
import { startOwnEndpoint, type OwnEndpoint } from '../support/own-endpoint.ts'
import type { Upstream } from '../support/upstream.ts'
import { until } from '../support/until.ts'

const both = 'application/json, text/event-stream'
const chatArgs = (content: string, model = 'gpt-5.2') => ({
  model,
  messages: [{ role: 'user', content }],
})

describe('a long tool call', () => {
  let own: OwnEndpoint
  let gateway: TestGateway
  let upstream: Upstream
  let client: Client
  before(async () => {
    own = await startOwnEndpoint({
      limits: { ping_interval_ms: 100 },
      bounds: { streamAfterMs: 150, toolProgressIntervalMs: 100 },
    })
    ;({ gateway, upstream } = own)
    client = await connectClient(gateway)
  })
  after(async () => {
    await client.close()
    await own.stop()
  })

  const open = (message: object, accept = both, key = gateway.testKey) =>
    openMessageStream((signal) =>
      gateway.post('/mcp', message, { headers: { accept }, signal, key }),
    )
  /** Makes the vendor answer only after the returned function is called. */
  const answerLater = () => {
    const gate = Promise.withResolvers<void>()
    upstream.answer({ ...completion('late'), after: gate.promise })
    return gate.resolve
  }
  const withToken = (message: object, progressToken: string | number) => {
    const { params, ...rest } = message as { params: object }
    return { ...rest, params: { ...params, _meta: { progressToken } } }
  }

  it('stays JSON when it is fast', async () => {
    const headers = { accept: both }
    const { response } = await postMessages(gateway, toolCall('list-models'), { headers })
    expect(response.headers.get('content-type')).to.equal('application/json')
  })

  it('becomes a stream with comments when it is slow', async () => {
    const stream = await open(toolCall('chat', chatArgs('sandbox:delay=500'), 'slow'))
    await stream.ended
    expect(stream.response.headers.get('content-type')).to.match(/^text\/event-stream/)
    expect(stream.response.headers.get('x-accel-buffering')).to.equal('no')
    expect(stream.text()).to.contain(': ping')
    const messages = stream.messages()
    expect(messages.map(({ id }) => id)).to.deep.equal(['slow'])
    expect(messages[0]!.result).to.have.property('content')
  })

  for (const accept of ['*/*', 'application/json', 'application/json, text/event-stream;q=0']) {
    it(`stays JSON for a client that accepts ${accept}`, async () => {
      const message = withToken(toolCall('chat', chatArgs('sandbox:delay=300')), 1)
      const { response, answer } = await postMessages(gateway, message, { headers: { accept } })
      expect(response.headers.get('content-type')).to.equal('application/json')
      expect(textOf(answer.result!)).to.contain('gpt-5.2')
    })
  }

  it('reports progress at once and at every interval, and never after the answer', async () => {
    const message = withToken(toolCall('chat', chatArgs('sandbox:delay=450')), 'token-7')
    const stream = await open(message)
    await stream.untilMessages(1)
    expect(stream.messages()[0]!.method).to.equal('notifications/progress')
    await stream.ended
    const messages = stream.messages()
    expect(messages.at(-1)!.result).to.have.property('content')
    const progress = messages.slice(0, -1).map(({ params }) => params!)
    expect(progress.length).to.be.within(3, 6)
    for (const [index, params] of progress.entries()) {
      expect(params).to.include({ progressToken: 'token-7', progress: index })
      expect(params['message'])
        .to.be.a('string')
        .that.matches(/^chat has /)
    }
  })

  it('streams a picture byte for byte', async () => {
    const args = { prompt: 'a fox', model: 'zai/glm-image' }
    const streamed = await open(withToken(toolCall('generate-image', args), 1))
    await streamed.ended
    const { answer } = await postMessages(gateway, toolCall('generate-image', args))
    const result = streamed.messages().at(-1)!.result as typeof answer.result
    expect(picturesOf(result!)[0]!.bytes.equals(picturesOf(answer.result!)[0]!.bytes)).to.equal(
      true,
    )
  })

  it('streams the answers of a batch one by one', async () => {
    const slow = withToken(toolCall('chat', chatArgs('sandbox:delay=200'), 1), 't')
    const stream = await openMessageStream((signal) =>
      gateway.post('/mcp', [slow, toolCall('list-image-models', {}, 2)], {
        headers: { accept: both },
        signal,
      }),
    )
    await stream.ended
    const ids = stream.messages().flatMap(({ id }) => id ?? [])
    expect(ids).to.deep.equal([2, 1])
  })

  describe('with the SDK', () => {
    it('outlasts the timeout of the client by progress notifications', async () => {
      const heard: number[] = []
      const answer = await callTool(client, 'chat', chatArgs('sandbox:delay=900'), {
        timeout: 400,
        resetTimeoutOnProgress: true,
        onprogress: ({ progress }) => heard.push(progress),
      })
      expect(textOf(answer)).to.contain('gpt-5.2')
      expect(heard.length).to.be.greaterThan(4)
    })

    it('gets its own answer among many concurrent calls', async () => {
      const words = Array.from({ length: 30 }, (_, index) => `word-${index}-end`)
      const answers = await Promise.all(
        words.map((word) =>
          callTool(client, 'chat', chatArgs(word), { onprogress: () => undefined }),
        ),
      )
      for (const [index, answer] of answers.entries()) {
        expect(textOf(answer)).to.contain(words[index])
      }
    })

    it('continues to its end when cancelled, and is recorded', async () => {
      const left = await countLeft(gateway)
      const release = answerLater()
      const live = await connectClient(gateway, gateway.liveKey)
      const leaving = new AbortController()
      const call = callTool(live, 'chat', chatArgs('cancelled', 'own/house'), {
        signal: leaving.signal,
      })
      await until('the upstream call', () => upstream.requests.length === 1)
      leaving.abort()
      await call.then(
        () => expect.fail('It was answered.'),
        () => undefined,
      )
      await left.until(1)
      release()
      await until('its row', async () => (await gateway.usage()).at(-1)?.model === 'own/house')
      expect((await gateway.usage()).at(-1)).to.include({ face: 'mcp', outcome: 'ok' })
      expect(upstream.requests[0]!.aborted).to.equal(false)
      await live.close()
    })
  })

  describe('that is cancelled', () => {
    const cancel = (requestId: unknown, key = gateway.liveKey) =>
      postMessages(
        gateway,
        { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } },
        { key },
      )
    const start = (id: unknown) =>
      open(
        toolCall('chat', chatArgs(`wait ${String(id)}`, 'own/house'), id),
        '*/*',
        gateway.liveKey,
      )
    let left: Awaited<ReturnType<typeof countLeft>>
    let release: () => void
    beforeEach(async () => {
      left = await countLeft(gateway)
      release = answerLater()
    })

    it('ends with an empty answer', async () => {
      const waiting = start('to-cancel')
      await until('the upstream call', () => upstream.requests.length === 1)
      const { response } = await cancel('to-cancel')
      expect(response.status).to.equal(202)
      release()
      const ended = await waiting
      await ended.ended
      expect([ended.response.status, ended.text()]).to.deep.equal([202, ''])
      expect(await left.count()).to.equal(1)
    })

    it('continues when another key cancels, or an id of another type', async () => {
      const waiting = start(41)
      await until('the upstream call', () => upstream.requests.length === 1)
      await cancel('41')
      await cancel(41, gateway.testKey)
      await cancel(undefined)
      expect(await left.count()).to.equal(0)
      await cancel(41)
      await left.until(1)
      release()
      await waiting
    })

    it('is the latest of the calls with one id, and each other call is answered', async () => {
      const first = open(
        toolCall('chat', chatArgs('first', 'own/house'), 5),
        '*/*',
        gateway.liveKey,
      )
      await until('the first', () => upstream.requests.length === 1)
      const second = open(
        toolCall('chat', chatArgs('second', 'own/house'), 5),
        '*/*',
        gateway.liveKey,
      )
      await until('the second', () => upstream.requests.length === 2)
      await cancel(5)
      await left.until(1)
      release()
      const answers = await Promise.all([first, second])
      await Promise.all(answers.map(({ ended }) => ended))
      expect(answers[0].text()).to.contain('late')
      expect(answers[1].text()).to.equal('')
    })
  })

  describe('whose client leaves', () => {
    for (const [how, token] of [
      ['while it is JSON', undefined],
      ['while it streams', 'token'],
    ] as const) {
      it(`continues to its end and is recorded, ${how}`, async () => {
        const left = await countLeft(gateway)
        const release = answerLater()
        const before = (await gateway.usage()).length
        const message = toolCall('chat', chatArgs(`leaves ${how}`, 'own/house'))
        const accept = token === undefined ? '*/*' : both
        const leaving = new AbortController()
        const call = gateway
          .post('/mcp', token === undefined ? message : withToken(message, token), {
            headers: { accept },
            key: gateway.liveKey,
            signal: leaving.signal,
          })
          .then((response) => response.text())
          .catch(() => undefined)
        await until('the upstream call', () => upstream.requests.length === 1)
        leaving.abort()
        await call
        await left.until(1)
        release()
        await until('its row', async () => (await gateway.usage()).length === before + 1)
        expect((await gateway.usage()).at(-1)!.outcome).to.equal('ok')
        expect(upstream.requests[0]!.aborted).to.equal(false)
      })
    }

    it('continues the running calls of its batch, and starts no queued ones', async () => {
      const left = await countLeft(gateway)
      const before = (await gateway.usage()).length
      const release = answerLater()
      const leaving = new AbortController()
      const batch = Array.from({ length: 20 }, (_, id) =>
        toolCall('chat', chatArgs(`batch ${id}`, 'own/house'), id),
      )
      const call = gateway
        .post('/mcp', batch, { key: gateway.liveKey, signal: leaving.signal })
        .catch(() => undefined)
      await until('the first calls', () => upstream.requests.length === 8)
      leaving.abort()
      await call
      await left.until(8)
      release()
      await until('their rows', async () => (await gateway.usage()).length === before + 8)
      expect(upstream.requests).to.have.length(8)
    })
  })
})
