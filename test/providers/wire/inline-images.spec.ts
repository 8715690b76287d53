import { expect } from 'chai'
import { uncounted } from '../../../src/bytes/memory-budget.ts'
import type { ChatRequest } from '../../../src/core/chat/chat.ts'
import { GatewayError } from '../../../src/core/error.ts'
import type { ReadSources } from '../../../src/core/image/image.ts'
import { google } from '../../../src/providers/google/index.ts'
import { openAiCompatible } from '../../../src/providers/openai-compatible/vendor.ts'
import { coalesceStreams } from '../../../src/providers/transport/coalescing.ts'
import type { Dispatch, UpstreamRequest } from '../../../src/providers/transport/dispatch.ts'
import { noPictures, type Endpoint } from '../../../src/providers/transport/endpoint.ts'
import { ownTexts } from '../../../src/providers/transport/vendor-texts.ts'
import { pixel } from '../../support/pixel.ts'
import { routeOf } from '../../support/route.ts'

const address = 'https://example.com/a.png'
const base64 = pixel.split(',')[1]!
const request: ChatRequest = {
  model: 'm',
  messages: [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'What is it?' },
        { type: 'image_url', image_url: { url: address } },
        { type: 'image_url', image_url: { url: pixel } },
      ],
    },
  ],
}
const turn = {
  signal: new AbortController().signal,
  memory: uncounted,
  createdSeconds: 1,
  idempotencyKey: undefined,
  traceHeaders: undefined,
}

/** An endpoint that records requests and never answers. */
function endpointWith(readSources: ReadSources): { endpoint: Endpoint; sent: UpstreamRequest[] } {
  const sent: UpstreamRequest[] = []
  const dispatch: Dispatch = (asked, receiver) => {
    sent.push(asked)
    receiver.start({ pause: () => undefined, resume: () => undefined, abort: () => undefined })
    receiver.error(new Error('The connection failed.'))
  }
  const limits = {
    headersTimeoutMs: 1,
    idleTimeoutMs: 1,
    endTimeoutMs: 1,
    answerBytesMax: 1,
    jsonBytesMax: 1,
    taskPollMs: 1,
  }
  const coalescing = coalesceStreams({ intervalMs: 0, bytesMax: 1, streamsMin: 1 })
  const endpoint = {
    id: 'own',
    dispatch,
    texts: ownTexts,
    limits,
    coalescing,
    ...noPictures,
    readSources,
  }
  return { endpoint, sent }
}

const builders = {
  Gemini: google.build,
  'a server that fetches nothing': (endpoint: Endpoint) =>
    openAiCompatible({ ...endpoint, dialect: { inlineImages: true } }),
}

for (const [name, build] of Object.entries(builders)) {
  describe(`an image by URL, for ${name}`, () => {
    it('is fetched with its parameter before the request is sent', async () => {
      const asked: string[] = []
      const { endpoint, sent } = endpointWith((images) => {
        asked.push(...images.map(({ address: url, param }) => `${param} ${url}`))
        return Promise.resolve([
          { format: 'png', base64: [Buffer.from(base64)], width: 32, height: 32, param: '' },
        ])
      })
      const chat = build(endpoint).chat!.prepare(request, routeOf('own'))
      expect(chat.problems).to.deep.equal([])
      await chat.complete(turn).catch(() => undefined)
      expect(asked).to.deep.equal([`messages[0].content[1].image_url.url ${address}`])
      const body = String(sent[0]!.body)
      expect(body.split(base64)).to.have.length(3)
      expect(body).not.to.contain(address)
    })

    it('fails the call if it cannot be fetched, without a request', async () => {
      const refusal = new GatewayError('image_fetch_failed', 'No.', { param: 'messages' })
      const { endpoint, sent } = endpointWith(() => Promise.reject(refusal))
      const chat = build(endpoint).chat!.prepare(request, routeOf('own'))
      const error: unknown = await chat.complete(turn).catch((thrown: unknown) => thrown)
      expect(error).to.equal(refusal)
      expect(sent).to.deep.equal([])
    })
  })
}
