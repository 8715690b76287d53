import { expect } from 'chai'
import { completion, refusal, streamed } from '../support/chat-answers.ts'
import { startEveryVendor, type EveryVendor } from '../support/every-vendor.ts'
import { postMessages } from '../support/mcp-client.ts'
import { hello, startOwnEndpoint, type OwnEndpoint } from '../support/own-endpoint.ts'
import { pixelFile } from '../support/pixel.ts'
import type { ReceivedRequest } from '../support/upstream.ts'

const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
const other = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00'
const traced = { traceparent, tracestate: 'rojo=1, congo=t61' }

function traceOf({ headers }: Pick<ReceivedRequest, 'headers'>): object {
  const { traceparent, tracestate } = headers
  return { traceparent, tracestate }
}

describe('the trace context of a caller', () => {
  describe('at every vendor', () => {
    let every: EveryVendor
    before(async () => (every = await startEveryVendor()))
    beforeEach(() => (every.upstream.requests.length = 0))
    after(() => every.stop())

    const asked: [string, object, string][] = [
      ['own/house-1', {}, '/v1/chat/completions'],
      ['gpt-5-mini', {}, '/v1/chat/completions'],
      ['gpt-5-mini', { stream: true }, '/v1/chat/completions'],
      ['anthropic/claude-sonnet-5', {}, '/v1/chat/completions'],
      ['anthropic/claude-sonnet-5', { stream: true }, '/v1/chat/completions'],
      ['google/gemini-3-flash-preview', {}, '/v1/chat/completions'],
      ['google/gemini-3-flash-preview', { stream: true }, '/v1/chat/completions'],
      ['gpt-image-2', {}, '/v1/images/generations'],
      ['gemini-3-pro-image-preview', {}, '/v1/images/generations'],
      ['alibaba/qwen-image-plus', {}, '/v1/images/generations'],
      ['zai/cogview-4', {}, '/v1/images/generations'],
      ['bytedance/seedream-4-5', {}, '/v1/images/generations'],
    ]
    for (const [model, more, path] of asked) {
      const how = 'stream' in more ? ' as a stream' : ''
      it(`is passed on with ${model}${how}`, async () => {
        const body = path.includes('images')
          ? { model, prompt: 'A boat' }
          : { model, messages: hello, ...more }
        const { gateway } = every
        await gateway.post(path, body, { key: gateway.liveKey, headers: traced })
        expect(every.upstream.requests.map(traceOf)).to.deep.include({
          traceparent,
          tracestate: 'rojo=1,congo=t61',
        })
      })
    }
  })

  describe("at the operator's own server", () => {
    let own: OwnEndpoint
    before(async () => (own = await startOwnEndpoint({ limits: { route_tries_max: 2 } })))
    beforeEach(() => {
      own.upstream.requests.length = 0
      own.upstream.answer(completion('Hello.'))
    })
    after(() => own.stop())
    const sent = () => own.upstream.requests.map(traceOf)
    const nothing = { traceparent: undefined, tracestate: undefined }

    it('is sent with each try', async () => {
      own.upstream.answer((_request, index) => (index === 0 ? refusal(503) : completion('Hello.')))
      await own.chat({ seed: 1 }, { headers: { traceparent } })
      const passedOn = { traceparent, tracestate: undefined }
      expect(sent()).to.deep.equal([passedOn, passedOn])
    })

    it('is not passed on when it is malformed', async () => {
      for (const given of [`${traceparent}x`, traceparent.slice(1), 'sk-secret', '']) {
        await own.chat({ seed: given.length }, { headers: { ...traced, traceparent: given } })
      }
      expect(sent()).to.deep.equal([nothing, nothing, nothing, nothing])
    })

    it('is not invented, and tracestate alone is not passed on', async () => {
      await own.chat({ seed: 2 }, { headers: { tracestate: 'a=1', baggage: 'user=alice' } })
      expect(sent()).to.deep.equal([nothing])
      expect(own.upstream.requests[0]!.headers).to.not.have.property('baggage')
    })

    it('is taken from the tool call, or else from its HTTP request', async () => {
      const call = (seed: string, meta?: object) => {
        const messages = [{ role: 'user', content: `Hello ${seed}` }]
        const args = { model: 'own/house-1', messages }
        const params = { name: 'chat', arguments: args, ...(meta && { _meta: meta }) }
        return { jsonrpc: '2.0', id: seed, method: 'tools/call', params }
      }
      const batch = [
        call('a', { traceparent: other }),
        call('b'),
        call('c', { traceparent: 'malformed' }),
      ]
      const init = { key: own.gateway.liveKey, headers: { traceparent } }
      const { answers } = await postMessages(own.gateway, batch, init)
      expect(answers.map(({ result }) => result?.isError)).to.deep.equal([
        undefined,
        undefined,
        undefined,
      ])
      const names = sent().map((one) => (one as typeof nothing).traceparent)
      expect(names).to.have.members([other, traceparent, traceparent])
    })

    it('is not sent when a picture is downloaded, even from the same server', async () => {
      const picture = Buffer.from(await pixelFile.arrayBuffer())
      own.upstream.answer(({ method }) =>
        method === 'GET'
          ? { body: picture, headers: { 'content-type': 'image/png' } }
          : { body: { created: 1, data: [{ url: `${own.upstream.url}/a.png` }] } },
      )
      const body = { model: 'own/house-1', prompt: 'A boat' }
      const init = { key: own.gateway.liveKey, headers: traced }
      const response = await own.gateway.post('/v1/images/generations', body, init)
      expect(response.status).to.equal(200)
      const [made, fetched] = own.upstream.requests
      expect(made!.headers).to.include({ traceparent })
      expect(traceOf(fetched!)).to.deep.equal(nothing)
    })
  })

  for (const TRACE_CONTEXT of ['taken', 'ignored']) {
    it(`is not sent to vendors with TRACE_CONTEXT=${TRACE_CONTEXT}`, async () => {
      await using own = await startOwnEndpoint({ variables: { TRACE_CONTEXT } })
      own.upstream.answer(streamed(['Hello.']))
      await (await own.chat({ stream: true }, { headers: traced })).text()
      expect(own.upstream.requests[0]!.headers).to.not.have.any.keys('traceparent', 'tracestate')
    })
  }
})
