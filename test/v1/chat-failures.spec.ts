import { expect } from 'chai'
import { completion, refusal, streamed } from '../support/chat-answers.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { hello, ownKey, ownProvider } from '../support/own-endpoint.ts'
import { startUpstream, type ScriptedAnswer, type Upstream } from '../support/upstream.ts'

type Row = {
  name: string
  /** The scripted answer of the route, or the URL of a server that does not answer. */
  answer?: ScriptedAnswer
  url?: string
  kind: string
  /** The status for the caller when no other route is left. */
  status: number
  code: string
  /** The caller caused the error, so the gateway tries no other route. */
  callers?: true
  /** The gateway tries the route again after a pause. */
  again?: true
  /** The answer's Retry-After is longer than the first pause. */
  later?: true
  /** The row applies to whole answers only; another test covers streams. */
  wholeOnly?: true
}

const html = { status: 200, headers: { 'content-type': 'text/html' }, body: '<html>Hi</html>' }
const down = { status: 502, code: 'all_providers_failed' }
const bad = { status: 400, code: 'invalid_value', callers: true as const }

const rows: Row[] = [
  {
    name: 'refuses connections',
    url: 'http://127.0.0.1:9',
    kind: 'unreachable',
    ...down,
    again: true,
  },
  {
    name: 'has a name that does not exist',
    url: 'http://nobody.invalid',
    kind: 'unreachable',
    ...down,
    again: true,
  },
  { name: 'does not speak TLS', url: 'https', kind: 'unreachable', ...down, again: true },
  { name: 'answers 400', answer: refusal(400), kind: 'rejected', ...bad },
  { name: 'answers 401', answer: refusal(401), kind: 'credentials', ...down },
  { name: 'answers 402', answer: refusal(402), kind: 'out_of_credit', ...down },
  { name: 'answers 403', answer: refusal(403), kind: 'credentials', ...down },
  { name: 'answers 404', answer: refusal(404), kind: 'not_found', ...down },
  { name: 'answers 408', answer: refusal(408), kind: 'timeout', ...down, again: true },
  {
    name: 'answers 413',
    answer: refusal(413),
    kind: 'too_large',
    status: 413,
    code: 'request_too_large',
    callers: true,
  },
  { name: 'answers 422', answer: refusal(422), kind: 'rejected', ...bad },
  { name: 'answers 429', answer: refusal(429), kind: 'rate_limited', ...down, again: true },
  {
    name: 'answers 429 and asks for a second',
    answer: refusal(429, null, { 'retry-after': '1' }),
    kind: 'rate_limited',
    ...down,
    again: true,
    later: true,
  },
  {
    name: 'answers 429 and asks for half a minute',
    answer: refusal(429, null, { 'retry-after': '30' }),
    kind: 'rate_limited',
    ...down,
  },
  {
    name: 'answers 429 for lack of credit',
    answer: refusal(429, 'insufficient_quota', { 'retry-after': '1' }),
    kind: 'out_of_credit',
    ...down,
  },
  { name: 'answers 500', answer: refusal(500), kind: 'overloaded', ...down, again: true },
  { name: 'answers 502', answer: refusal(502), kind: 'overloaded', ...down, again: true },
  { name: 'answers 503', answer: refusal(503), kind: 'overloaded', ...down, again: true },
  { name: 'answers 529', answer: refusal(529), kind: 'overloaded', ...down, again: true },
  { name: 'answers HTML with 200', answer: html, kind: 'malformed', ...down },
  { name: 'answers 200 without a body', answer: { status: 200 }, kind: 'malformed', ...down },
  {
    name: 'breaks off before the first byte',
    answer: { reset: 'before' },
    kind: 'unreachable',
    ...down,
    again: true,
  },
  {
    name: 'breaks off in the middle',
    answer: { headers: { 'content-type': 'application/json' }, body: '{"id":', reset: 'after' },
    kind: 'unreachable',
    ...down,
    again: true,
    wholeOnly: true,
  },
  { name: 'does not begin', answer: { hang: true }, kind: 'timeout', ...down },
  {
    name: 'begins and pauses',
    answer: { pieces: [': hello\n\n'], hang: true },
    kind: 'timeout',
    ...down,
  },
]

type Place = Pick<Upstream, 'url'>

describe('a call with two routes', () => {
  let one: Upstream
  let two: Upstream
  let gateway: TestGateway
  /** The gateway for all rows except rows with their own `url`. */
  let usual: TestGateway
  let pauses: number[]
  let now = Date.now()

  before(async () => {
    ;[one, two] = await Promise.all([startUpstream(), startUpstream()])
    usual = await startWith(one, two)
  })
  after(async () => {
    await usual.stop()
    await Promise.all([one.stop(), two.stop()])
  })

  const start = async (row: Row, place: 'first' | 'second') => {
    pauses = []
    one.requests.length = 0
    two.requests.length = 0
    // Advances the clock until all circuits are closed again.
    now += 3_600_000
    if (row.url === undefined) {
      gateway = usual
      return
    }
    const elsewhere = row.url === 'https' ? one.url.replace('http:', 'https:') : row.url
    const faulty = { url: elsewhere }
    gateway = await (place === 'first' ? startWith(faulty, two) : startWith(one, faulty))
  }
  const startWith = (first: Place, second: Place) =>
    startGateway({
      variables: { OWN_API_KEY: ownKey },
      file: {
        providers: [ownProvider('one', first), ownProvider('two', second)],
        routes: { 'gpt-4.1': ['one/big', 'two/big'] },
        limits: {
          upstream_headers_timeout_ms: 250,
          upstream_idle_timeout_ms: 250,
          cache_ttl_seconds: 0,
        },
      },
      random: () => 1,
      sleep: (delayMs) => {
        pauses.push(delayMs)
        return Promise.resolve()
      },
      clock: () => now,
    })
  const ask = (stream: boolean) =>
    gateway.post(
      '/v1/chat/completions',
      { model: 'gpt-4.1', messages: hello, stream },
      { key: gateway.liveKey },
    )
  const good = (stream: boolean): ScriptedAnswer =>
    stream ? streamed(['Hi'], { model: 'big' }) : completion('Hi', { model: 'big' })
  const ledger = async () => {
    const row = (await gateway.usage()).at(-1)!
    const attempts = JSON.parse(row.attempts) as { provider: string; outcome: string }[]
    return { row, made: attempts.map(({ provider, outcome }) => `${provider} ${outcome}`) }
  }
  afterEach(async () => {
    if (gateway !== usual) await gateway.stop()
  })

  for (const row of rows) {
    for (const stream of [false, true]) {
      if (stream && row.wholeOnly) continue
      const way = stream ? ', in a stream' : ''

      it(`${row.callers ? 'ends at' : 'continues after'} a first route that ${row.name}${way}`, async () => {
        await start(row, 'first')
        if (row.answer) one.answer(row.answer)
        two.answer(good(stream))
        const startedAt = performance.now()
        const response = await ask(stream)
        const text = await response.text()
        expect(performance.now() - startedAt).to.be.lessThan(5000)
        expect(pauses).to.deep.equal([])
        const { row: recorded, made } = await ledger()
        if (row.callers) {
          expect(response.status, text).to.equal(row.status)
          expect(text).to.contain(row.code)
          expect(made).to.deep.equal([`one ${row.kind}`])
          expect(two.requests).to.have.length(0)
          expect(recorded).to.include({ outcome: 'failed', cost_nano_usd: 0 })
          return
        }
        expect(response.status, text).to.equal(200)
        expect(text).to.contain('Hi')
        expect(made).to.deep.equal([`one ${row.kind}`, 'two ok'])
        expect(response.headers.get('x-gateway-attempts')).to.equal(`one=${row.kind}, two=ok`)
        expect(recorded).to.include({ outcome: 'ok', provider: 'two', cost_nano_usd: 50_000 })
      })

      it(`reports a second route that ${row.name}${way}`, async () => {
        await start(row, 'second')
        one.answer(refusal(503))
        if (row.answer) two.answer(row.answer)
        const startedAt = performance.now()
        const response = await ask(stream)
        const text = await response.text()
        expect(performance.now() - startedAt).to.be.lessThan(5000)
        expect(response.status, text).to.equal(row.status)
        const { error } = JSON.parse(text) as { error: { code: string; message: string } }
        expect(error.code).to.equal(row.code)
        const { row: recorded, made } = await ledger()
        const round = ['one overloaded', `two ${row.kind}`]
        const rest = row.again && !row.later ? round : ['one overloaded']
        expect(made).to.deep.equal(row.callers ? round : [...round, ...rest])
        expect(pauses).to.deep.equal(row.callers ? [] : [250])
        // A failed call costs nothing, unless its cost is unknown.
        const cost = recorded.cost_status === 'unknown' ? null : 0
        expect(recorded).to.include({
          outcome: 'failed',
          error_code: row.code,
          cost_nano_usd: cost,
        })
      })
    }
  }
})
