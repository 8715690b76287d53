import { generateKeyPairSync } from 'node:crypto'
import { Readable } from 'node:stream'
import { Router } from '@koa/router'
import { expect } from 'chai'
import { Provider, type Configuration } from 'oidc-provider'
import { operations } from '../../generated/operations.ts'
import { createMemoryBudget } from '../../src/bytes/memory-budget.ts'
import { createReferenceCount } from '../../src/core/resilience/ending.ts'
import { errorAnswer } from '../../src/http/error-answer.ts'
import type { FinishedExchange } from '../../src/core/caller.ts'
import type { ExchangeState } from '../../src/http/exchange.ts'
import { loadConfig } from '../../src/settings/config.ts'
import {
  createContractRouter,
  loadContract,
  type Operations,
} from '../../src/http/contract-router.ts'
import { createResponseStreams } from '../../src/http/response-stream.ts'
import { createHttpServer, type GatewayServer } from '../../src/http/server.ts'
import { until } from '../support/until.ts'

const notCalled = () => Promise.reject(new Error('No operation is called here.'))
const notAuthenticated = () => {
  throw new Error('No caller is authenticated here.')
}

/** A handler for each operation, which must not be called. */
function unused(): { operations: Operations; answerInUse: () => Promise<never> } {
  const all: object = Object.fromEntries(operations.map(({ id }) => [id, notCalled]))
  return { operations: all as Operations, answerInUse: notCalled }
}

describe('a handler outside the contract', () => {
  let server: GatewayServer
  let url: string
  const exchanges: FinishedExchange[] = []
  const router = new Router<ExchangeState>({ sensitive: true })

  before(async () => {
    const streams = createResponseStreams({
      limits: { streamAfterMs: 5000, pingIntervalMs: 1000 },
      monotonic: Date.now,
    })
    const contract = createContractRouter(await loadContract(), {
      inForce: () => ({ ...unused(), ...createReferenceCount() }),
      forms: {},
      security: {
        bearer: notAuthenticated,
        apiKey: notAuthenticated,
        session: notAuthenticated,
        unauthorized: notAuthenticated,
      },
      addressOf: () => null,
      actFor: notCalled,
      claimKey: notCalled,
      countRefused: (thrown) => Promise.resolve(thrown),
      streams,
      limits: {
        requestBytesMax: 1000,
        requestIdleTimeoutMs: 1000,
      },
    })
    server = createHttpServer({
      contract,
      router,
      streams,
      limits: {
        ...loadConfig({}).config.limits,
        concurrentRequestsMax: 2,
        lingerTimeoutMs: 10,
        requestTimeoutMs: 5000,
        drainNoticeMs: 0,
        drainTimeoutMs: 100,
      },
      errorAnswerAt: () => errorAnswer,
      allowCrossOrigin: () => false,
      onLate: () => undefined,
      onDrain: () => undefined,
      memoryBudget: createMemoryBudget({ bytesMax: 1_000_000, graceMs: 2000, now: Date.now }),
      followKey: () => () => undefined,
      onRefused: () => undefined,
      events: {
        exchanged: (exchange) => exchanges.push(exchange),
        refused: () => undefined,
        swept: () => undefined,
        acceptFailed: () => undefined,
      },
      clock: Date.now,
      monotonic: Date.now,
    })
    url = `http://127.0.0.1:${await server.listen(0, '127.0.0.1')}`
  })
  after(() => server.drain())
  beforeEach(() => exchanges.splice(0))

  /** Sends a GET; returns the answer and the exchange that the server has reported. */
  const get = async (path: string) => {
    const response = await fetch(url + path, { redirect: 'manual' })
    const text = await response.text()
    await until('one exchange is over', () => exchanges.length === 1)
    const { requestId, status, path: reported, left } = exchanges[0]!
    return { response, text, reported: { requestId, status, path: reported, left } }
  }
  const expectReported = (
    { response, reported }: Awaited<ReturnType<typeof get>>,
    path: string,
  ) => {
    expect(reported).to.deep.equal({
      requestId: response.headers.get('x-request-id'),
      status: response.status,
      path,
      left: false,
    })
  }

  describe('with a stream of events', () => {
    const given: ExchangeState[] = []
    router.get('/events/unsent', ({ state }) => {
      given.push(state)
      state.answer = {
        status: 200,
        headers: { 'x-one': 'two\nlines' },
        events: () => Promise.reject(new Error('No client reads these.')),
      }
    })
    router.get('/events/failing', ({ state }) => {
      state.answer = {
        status: 200,
        events: async (sink) => {
          sink.write(Buffer.from('data: one\n\n'))
          throw new Error('This is a bug.')
        },
      }
    })

    it('ends its call when the response head cannot be written', async () => {
      const { response } = await get('/events/unsent')
      expect(response.status).to.equal(500)
      expect(given[0]!.ending.signal.aborted).to.equal(true)
    })

    it('aborts the response when the stream fails, so that it does not look complete', async () => {
      const read = fetch(`${url}/events/failing`).then((response) => response.text())
      expect(await read.catch((error: unknown) => error)).to.be.instanceOf(Error)
    })
  })

  describe('as a Koa middleware', () => {
    router.get('/plain/json', (context) => {
      context.body = { fine: true }
    })
    router.get('/plain/text', (context) => {
      context.status = 201
      context.body = 'made'
    })
    router.get('/plain/nothing', (context) => {
      context.status = 204
    })
    router.get('/plain/stream', (context) => {
      context.type = 'text/plain'
      context.body = Readable.from(['one ', 'two'])
    })
    router.get('/plain/redirect', (context) => context.redirect('/plain/json'))
    router.get('/plain/missing', (context) => {
      context.status = 404
    })
    router.get('/plain/failing', () => {
      throw new Error('This must not be shown.')
    })

    const answers = [
      { path: '/plain/json', status: 200, body: '{"fine":true}' },
      { path: '/plain/text', status: 201, body: 'made' },
      { path: '/plain/nothing', status: 204, body: '' },
      { path: '/plain/stream', status: 200, body: 'one two' },
      { path: '/plain/redirect', status: 302, body: undefined },
    ]
    for (const { path, status, body } of answers) {
      it(`answers ${path} with ${status}, which is logged`, async () => {
        const answered = await get(path)
        expect(answered.response.status).to.equal(status)
        if (body !== undefined) expect(answered.text).to.equal(body)
        expectReported(answered, path)
      })
    }

    it('is answered as an unknown path when it sets nothing', async () => {
      const answered = await get('/plain/missing')
      expect(answered.response.status).to.equal(404)
      expect(answered.text).to.include('Unknown path /plain/missing.')
      expectReported(answered, '/plain/missing')
    })

    it('accepts only its own methods, which a refusal names', async () => {
      const response = await fetch(`${url}/plain/json`, { method: 'DELETE' })
      expect(response.status).to.equal(405)
      expect(response.headers.get('allow')?.split(', ')).to.have.members(['HEAD', 'GET'])
    })

    it('answers 500 without detail when it throws', async () => {
      const answered = await get('/plain/failing')
      expect(answered.response.status).to.equal(500)
      expect(answered.text).to.include('internal_error').and.to.not.include('must not be shown')
      expect(exchanges[0]!.error).to.be.instanceOf(Error)
    })
  })

  describe('as a Node request listener', () => {
    router.get('/raw/now', (context) => {
      context.respond = false
      context.res.writeHead(202, { 'content-type': 'text/plain' }).end('taken')
    })
    router.get('/raw/unannounced', ({ res }) => {
      res.statusCode = 203
      res.end('by itself')
    })
    const later: (() => void)[] = []
    router.get('/raw/later', (context) => {
      context.respond = false
      later.push(() => context.res.end('at last'))
    })

    for (const [path, status, body] of [
      ['/raw/now', 202, 'taken'],
      ['/raw/unannounced', 203, 'by itself'],
    ] as const) {
      it(`answers ${path} with ${status}, which is logged`, async () => {
        const answered = await get(path)
        expect(answered.response.status).to.equal(status)
        expect(answered.text).to.equal(body)
        expect(answered.reported).to.deep.include({ status, path, left: false })
      })
    }

    it('counts as running until it has answered, and is logged then', async () => {
      const [first, second] = [fetch(`${url}/raw/later`), fetch(`${url}/raw/later`)]
      await until('both wait', () => later.length === 2)
      expect(exchanges).to.deep.equal([])
      expect((await fetch(`${url}/plain/json`)).status).to.equal(503)
      for (const answer of later.splice(0)) answer()
      expect(await (await first).text()).to.equal('at last')
      await (await second).text()
      await until('all are over', () => exchanges.length === 3)
      expect((await fetch(`${url}/plain/json`)).status).to.equal(200)
    })
  })

  describe("as oidc-provider's callback", () => {
    before(() => {
      const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
      const configuration: Configuration = {
        adapter: class {
          upsert = notCalled
          find = async () => undefined
          findByUserCode = notCalled
          findByUid = notCalled
          consume = notCalled
          destroy = notCalled
          revokeByGrantId = notCalled
        },
        features: { devInteractions: { enabled: false } },
        jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), use: 'sig' }] },
      }
      const callback = new Provider(`${url}/oidc`, configuration).callback()
      router.all('/oidc{/*path}', (context) => {
        context.respond = false
        context.req.url = context.req.url!.slice('/oidc'.length)
        return callback(context.req, context.res)
      })
    })

    it('answers its own paths', async () => {
      const answered = await get('/oidc/.well-known/openid-configuration')
      expect(answered.response.status).to.equal(200)
      expect(JSON.parse(answered.text)).to.have.property('token_endpoint')
      expect(answered.reported).to.deep.include({ status: 200, left: false })
    })

    it('refuses its unknown paths itself', async () => {
      const answered = await get('/oidc/auth?client_id=unknown')
      expect(answered.response.status).to.equal(400)
      expect(answered.text).to.include('invalid_client')
      expect(answered.reported).to.deep.include({ status: 400, left: false })
    })
  })

  describe('while the server drains', () => {
    let draining: Promise<void> | undefined
    router.get('/draining', ({ state }) => {
      draining = server.drain()
      state.answer = { status: 200, json: {} }
    })

    it('announces no close of a connection before the port is closed, so that no new one is reset', async () => {
      const { response } = await get('/draining')
      expect(response.headers.get('connection')).to.equal('keep-alive')
      await draining
    })
  })
})
