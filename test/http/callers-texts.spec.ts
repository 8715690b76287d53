import { expect } from 'chai'
import {
  bodySchema,
  operation,
  operations,
  resolve,
  tools,
  type Schema,
} from '../support/contract.ts'
import { completion } from '../support/chat-answers.ts'
import { request, toolCall } from '../support/mcp-client.ts'
import { hello, startOwnEndpoint, type OwnEndpoint } from '../support/own-endpoint.ts'
import { pixel } from '../support/pixel.ts'
import { stringPlaces, type StringPlace } from '../support/string-places.ts'
import { inContext, toolCall as calledTool } from '../contract/tool-context.ts'

const long = 'x'.repeat(20_000)
/** Characters that headers, log lines and file names cannot contain, and invisible characters. */
const odd = 'a"\r\nset-cookie: b\u0000\u001b[31m\u202e\u{1f98a}\ud800 %c'

const words = {
  model: 'own/house-1',
  image_url: pixel,
  url: pixel,
  tool_call_id: calledTool.id,
  name: 'paint',
}

/** Length limits in characters: far above the lengths in a normal call, far below the sent text. */
const headersLengthMax = 8000
const errorLengthMax = 4500
/** Characters of an HTML page, which is longer than the text of an error. */
const pageLengthMax = 10_000
const columnLengthMax = 400
/** Characters of a column that contains a list. */
const listLengthMax = 2000
const lineLengthMax = 4000

/** Models that ignore many fields, and a model that accepts any field. */
const models: Record<string, readonly string[]> = {
  createChatCompletion: ['own/house-1', 'claude-sonnet-4-5'],
  createImage: ['zai/cogview-4'],
  createImageEdit: ['gpt-image-1.5'],
}

describe('the length of a text of a caller', () => {
  let own: OwnEndpoint
  before(async () => {
    own = await startOwnEndpoint({
      limits: { requests_per_minute: 1_000_000, cache_ttl_seconds: 60 },
    })
    own.upstream.answer(completion('A fox.'))
  })
  after(() => own.stop())

  /** Sends both texts and checks the answers. */
  const sendBoth = async (send: (text: string) => Promise<Response>, at: string) => {
    for (const text of [long, odd]) {
      const response = await send(text)
      expect(response.status, `${at}: ${response.status}`).to.be.within(200, 499)
      for (const [name, value] of response.headers) {
        expect(value, `${at}: ${name}`).to.match(/^[\x20-\x7e]*$/)
      }
      const headers = [...response.headers].flat().join('')
      expect(headers.length, `${at}: headers`).to.be.lessThan(headersLengthMax)
      const answer = await response.text()
      const isPage = response.headers.get('content-type')?.startsWith('text/html') === true
      if (response.status === 200) expect(warningsLength(answer), at).to.be.lessThan(20_000)
      else {
        const lengthMax = isPage ? pageLengthMax : errorLengthMax
        expect(answer.length, `${at}: ${answer.slice(0, 200)}`).to.be.lessThan(lengthMax)
      }
    }
  }

  for (const id of Object.keys(models)) {
    const { path } = operation(id)
    const schema = bodySchema(operation(id))!
    for (const model of models[id]!) {
      it(`is limited in answers of ${id} with ${model}`, async () => {
        const key = model.startsWith('own/') ? own.gateway.liveKey : own.gateway.testKey
        const sent = placesOf(schema).map(({ at, put }) =>
          sendBoth((text) => {
            const body = put(/^\.models?/.test(at) ? `own/${text}` : text)
            const whole = { ...(body as object), ...(at === '.model' ? {} : { model }) }
            return own.gateway.post(path, inContext(id, whole), { key })
          }, at),
        )
        await Promise.all(sent)
      })
    }
  }

  for (const { name, inputSchema } of tools) {
    it(`is limited in answers of the tool ${name}`, async () => {
      for (const { at, put } of stringPlaces(inputSchema, words)) {
        await sendBoth((text) => {
          const args = put(at === '.model' ? `own/${text}` : text) as object
          return own.gateway.post('/mcp', toolCall(name, args), { key: own.gateway.liveKey })
        }, at)
      }
    })
  }

  it('is limited in answers to any MCP message', async () => {
    const messages: ((text: string) => unknown)[] = [
      (text) => request(text),
      (text) => request('tools/call', { name: text }),
      (text) => request('tools/call', { name: 'chat', arguments: { [text]: 1 } }),
      (text) => request('logging/setLevel', { level: text }),
      (text) => request('tools/list', { cursor: text }),
      (text) => request('initialize', { protocolVersion: text }),
      (text) => request('ping', {}, text),
      (text) => request('ping', { _meta: { progressToken: text } }),
      (text) => ({ jsonrpc: text, id: 1, method: 'ping' }),
      (text) => [{ [text]: 1 }],
      (text) => ({
        jsonrpc: '2.0',
        method: 'notifications/cancelled',
        params: { requestId: text },
      }),
    ]
    for (const message of messages) {
      await sendBoth(
        (text) => own.gateway.post('/mcp', message(text)),
        JSON.stringify(message('…')),
      )
    }
  })

  it('is limited in answers to any path, query and method', async () => {
    // Nearly the longest request head that Node accepts.
    const longest = 'x'.repeat(15_000)
    const encoded = encodeURIComponent(odd.toWellFormed())
    for (const text of [longest, encoded]) {
      for (const { method, path, parameters = [] } of operations.filter(isGet)) {
        const places = [path.replaceAll(/\{\w+\}/g, text), `${path}/${text}`, `${path}?${text}=1`]
        const asked = parameters.map((one) => resolve(one)).filter((one) => one.in === 'query')
        for (const one of [...places, ...asked.map(({ name }) => `${path}?${name}=${text}`)]) {
          await sendBoth(() => own.gateway.fetch(one, { method }), one.slice(0, 60))
        }
      }
    }
    for (const method of ['PROPFIND', 'LINK', 'M-SEARCH', 'QUERY', 'REPORT']) {
      expect((await own.gateway.fetch('/v1/models', { method })).status).to.equal(405)
    }
  })

  it('does not change it in a header, except that other characters are percent-encoded', async () => {
    const headerOf = async (name: string) => {
      const { headers } = await own.chat({ model: `own/${name}` })
      return headers.get('x-gateway-model')
    }
    expect(await headerOf('House 7%/b:c')).to.equal('own/House 7%/b:c')
    expect(await headerOf('f\u00fcchse \u{1f98a} 100%')).to.equal(
      'own/f%C3%BCchse%20%F0%9F%A6%8A%20100%25',
    )
    expect(await headerOf('a\u202eb\ud800')).to.equal('own/a%E2%80%AEb%EF%BF%BD')
  })

  it('is limited in rows, metrics and log lines', async () => {
    for (const row of await own.gateway.usage()) {
      for (const [name, value] of Object.entries(row)) {
        const isList = name === 'attempts' || name === 'warnings'
        const most = isList ? listLengthMax : columnLengthMax
        expect(String(value).length, name).to.be.lessThan(most)
      }
    }
    const metrics = await (await own.gateway.fetch('/metrics')).text()
    const series = metrics.split('\n').filter((line) => line.startsWith('gateway_'))
    const methods = series.flatMap((line) => /method="([^"]*)"/.exec(line)?.[1] ?? [])
    expect([...new Set(methods)]).to.have.members(['GET', 'POST', 'other'])
    expect(metrics.length).to.be.lessThan(60_000)
    for (const line of own.gateway.logText().split('\n')) {
      expect(line.length, line.slice(0, 200)).to.be.lessThan(lineLengthMax)
    }
  })
})

/** Length of the part of an answer that may quote the request: its warnings. */
function warningsLength(answer: string): number {
  if (!answer.startsWith('{')) return 0
  const { warnings = [] } = JSON.parse(answer) as { warnings?: unknown[] }
  return JSON.stringify(warnings).length
}

/** Every place that accepts a text in a body; `put` makes an otherwise valid body with the text. */
function placesOf(schema: Schema): StringPlace[] {
  const base = { messages: hello, prompt: 'a fox', images: [{ image_url: pixel }] }
  const has = (name: string) => schema.properties?.[name] !== undefined
  const whole = Object.fromEntries(Object.entries(base).filter(([name]) => has(name)))
  // Keeps one place per path, because branches have members of the same name.
  const places = new Map(stringPlaces(schema, words).map((place) => [place.at, place]))
  return [...places.values()].map(({ at, put }) => ({
    at,
    put: (text) => {
      const [, member = ''] = /^\.(\w+)/.exec(at) ?? []
      const { [member]: _, ...others } = whole
      return { ...(put(text) as object), ...others }
    },
  }))
}

function isGet({ method }: { method: string }): boolean {
  return method === 'get'
}
