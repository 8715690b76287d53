import { expect } from 'chai'
import type { components } from '../../generated/types.ts'
import { completion, refusal, roleChunk, textChunk } from '../support/chat-answers.ts'
import { expectError } from '../support/expect-error.ts'
import { ownKey, startOwnEndpoint, type OwnEndpoint } from '../support/own-endpoint.ts'
import type { ScriptedAnswer } from '../support/upstream.ts'

type Row = {
  name: string
  answer: ScriptedAnswer
  status: number
  code: string
  type: string
  /** The kind of failure that the ledger and the log contain. */
  kind: string
  retryAfter?: string
}

const failed = { status: 502, code: 'provider_error', type: 'upstream_error' }
const late = { status: 504, code: 'timeout', type: 'timeout_error' }
const callers = { type: 'invalid_request_error' }
const tooMany = { status: 429, code: 'rate_limit_exceeded', type: 'rate_limit_error' }
const html = {
  headers: { 'content-type': 'text/html' },
  body: '<html>Bad gateway at /srv/app</html>',
}
const whole = JSON.stringify(completion('Hi.').body)

const rows: Row[] = [
  { name: 'never answers', answer: { hang: true }, ...late, kind: 'timeout' },
  { name: 'closes the connection', answer: { reset: 'before' }, ...failed, kind: 'unreachable' },
  {
    name: 'ends its answer early',
    answer: { body: whole.slice(0, 40), headers: { 'content-length': '500' }, reset: 'after' },
    ...failed,
    kind: 'unreachable',
  },
  { name: 'answers HTML with 200', answer: html, ...failed, kind: 'malformed' },
  { name: 'answers 200 without a body', answer: { body: '' }, ...failed, kind: 'malformed' },
  { name: 'answers null with 200', answer: { body: 'null' }, ...failed, kind: 'malformed' },
  {
    name: 'answers half a JSON',
    answer: { body: whole.slice(0, 40) },
    ...failed,
    kind: 'malformed',
  },
  { name: 'answers no choices', answer: { body: { choices: [] } }, ...failed, kind: 'malformed' },
  {
    name: 'answers an error with 200',
    answer: { body: { error: { message: 'no', code: 'overloaded' } } },
    ...failed,
    kind: 'overloaded',
  },
  { name: 'answers 204', answer: { status: 204 }, ...failed, kind: 'malformed' },
  {
    name: 'redirects',
    answer: { status: 307, headers: { location: 'http://169.254.169.254/' } },
    ...failed,
    kind: 'malformed',
  },
  {
    name: 'answers 400',
    answer: refusal(400),
    status: 400,
    code: 'invalid_value',
    ...callers,
    kind: 'rejected',
  },
  {
    name: 'answers 422',
    answer: refusal(422),
    status: 400,
    code: 'invalid_value',
    ...callers,
    kind: 'rejected',
  },
  {
    name: 'refuses the content',
    answer: refusal(400, 'content_policy_violation'),
    status: 400,
    code: 'content_policy_violation',
    ...callers,
    kind: 'content_policy',
  },
  { name: 'answers 401', answer: refusal(401), ...failed, kind: 'credentials' },
  { name: 'answers 403', answer: refusal(403), ...failed, kind: 'credentials' },
  {
    name: 'answers 400 for our key',
    answer: refusal(400, 'invalid_api_key'),
    ...failed,
    kind: 'credentials',
  },
  { name: 'answers 402', answer: refusal(402), ...failed, kind: 'out_of_credit' },
  {
    name: 'answers 404',
    answer: refusal(404),
    status: 404,
    code: 'model_not_found',
    ...callers,
    kind: 'not_found',
  },
  { name: 'answers 408', answer: refusal(408), ...late, kind: 'timeout' },
  { name: 'answers 409', answer: refusal(409), ...failed, kind: 'overloaded' },
  {
    name: 'answers 413',
    answer: refusal(413),
    status: 413,
    code: 'request_too_large',
    ...callers,
    kind: 'too_large',
  },
  { name: 'answers 429', answer: refusal(429), ...tooMany, kind: 'rate_limited', retryAfter: '5' },
  {
    name: 'answers 429 with a time in seconds',
    answer: refusal(429, null, { 'retry-after': '17' }),
    ...tooMany,
    kind: 'rate_limited',
    retryAfter: '17',
  },
  {
    name: 'answers 429 with a time in milliseconds',
    answer: refusal(429, null, { 'retry-after-ms': '2100', 'retry-after': '9' }),
    ...tooMany,
    kind: 'rate_limited',
    retryAfter: '3',
  },
  {
    name: 'answers 429 with a time in an hour',
    answer: refusal(429, null, { 'retry-after': '3600' }),
    ...tooMany,
    kind: 'rate_limited',
    retryAfter: '60',
  },
  {
    name: 'answers 429 with a date long ago',
    answer: refusal(429, null, { 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' }),
    ...tooMany,
    kind: 'rate_limited',
    retryAfter: '1',
  },
  {
    name: 'answers 429 because the account has no credit',
    answer: refusal(429, 'insufficient_quota', { 'retry-after': '1' }),
    ...failed,
    kind: 'out_of_credit',
  },
  { name: 'answers 500', answer: refusal(500), ...failed, kind: 'overloaded' },
  { name: 'answers 503', answer: { ...html, status: 503 }, ...failed, kind: 'overloaded' },
  { name: 'answers 504', answer: refusal(504), ...late, kind: 'timeout' },
  { name: 'answers 529', answer: refusal(529), ...failed, kind: 'overloaded' },
]

describe('a provider that fails', () => {
  let own: OwnEndpoint
  before(async () => {
    own = await startOwnEndpoint({
      limits: { upstream_headers_timeout_ms: 200 },
      bounds: { upstreamJsonBytesMax: 20_000 },
    })
  })
  after(() => own.stop())

  for (const { name, answer, retryAfter, kind, ...expected } of rows) {
    for (const stream of [false, true]) {
      it(`is reported as ${expected.status} when it ${name}${stream ? ', in a stream' : ''}`, async () => {
        own.upstream.answer(answer)
        const startedAt = performance.now()
        const response = await own.chat({ stream })
        const error = await expectError(response, expected)
        expect(performance.now() - startedAt).to.be.lessThan(5000)
        expect(response.headers.get('retry-after')).to.equal(retryAfter ?? null)
        expect(error.message).not.to.match(/\n|<html|\/srv|127\.0\.0\.1|169\.254/)
        expect(own.upstream.requests).to.have.length(1)
        const row = (await own.gateway.usage()).at(-1)!
        // After a status 2xx or 504 the cost is unknown, because the provider may charge for the call.
        const { status = name === 'answers an error with 200' ? 500 : 200 } = answer
        const cost = status < 300 || status === 504 ? null : 0
        expect(row).to.include({
          outcome: 'failed',
          error_code: expected.code,
          cost_nano_usd: cost,
        })
        const [attempt] = JSON.parse(row.attempts) as { outcome: string }[]
        expect(attempt!.outcome).to.equal(kind)
      })
    }
  }

  it('may report what is wrong with the request, and in which parameter', async () => {
    const error = { message: 'top_p is too small.', type: 'x', param: 'top_p', code: null }
    own.upstream.answer({ status: 400, body: { error } })
    const passedOn = await expectError(await own.chat(), { status: 400, code: 'invalid_value' })
    expect(passedOn).to.include({ message: 'top_p is too small.', param: 'top_p' })
  })

  it('never reveals our key to the caller by repeating it', async () => {
    const message = `Incorrect API key provided: ${ownKey}. Header: Bearer ${ownKey}`
    own.upstream.answer({ status: 400, body: { error: { message } } })
    const { message: passedOn } = await expectError(await own.chat(), {
      status: 400,
      code: 'invalid_value',
    })
    expect(passedOn).to.contain('[removed]').and.not.contain(ownKey)
  })

  const recorded = async (answer: ScriptedAnswer, body: object = {}) => {
    own.upstream.answer(answer)
    const response = await own.chat(body)
    await response.text()
    const path = `/api/requests/${response.headers.get('x-request-id')}`
    const call = await own.gateway.fetch(path, { key: own.gateway.adminKey })
    const { attempts } = (await call.json()) as components['schemas']['RequestRecord']
    return attempts.map(({ message }) => message)
  }

  it('has its own words in the record of the call, without keys, addresses and quoted prompts', async () => {
    const message =
      `Key ${ownKey} at http://10.0.0.7/x: 'temperature' must not be "hot", but you sent ` +
      `"my secret diary", can't read “Dear diary” or 'it is mine'.`
    const [words] = await recorded({ status: 400, body: { error: { message } } })
    expect(words).to.equal(
      `Key [removed] at [address]: 'temperature' must not be "hot", but you sent […], can't read […] or […].`,
    )
    const cut = { status: 400, body: { error: { message: `${'word '.repeat(90)}"a long` } } }
    expect((await recorded(cut))[0]).to.have.length(200)
    expect(await recorded(completion('Hi.'), { temperature: 0.3 })).to.deep.equal([null])
    expect(await recorded({ status: 503, body: '' })).to.deep.equal([null])
  })

  it('has the words that ended its stream in the record of the call', async () => {
    const error = { message: 'Out of memory.', code: 500 }
    const events = [roleChunk, textChunk('It '), `data: ${JSON.stringify({ error })}\n\n`]
    expect(await recorded({ pieces: events }, { stream: true })).to.deep.equal(['Out of memory.'])
  })

  it('may not send more bytes than the limit', async () => {
    own.upstream.answer(completion('x'.repeat(30_000)))
    await expectError(await own.chat(), failed)
  })

  it('leaves the gateway healthy and the log free of secrets, stacks and folders', async () => {
    own.upstream.answer(completion('Hi.'))
    expect((await own.chat()).status).to.equal(200)
    const { gateway } = own
    const log = gateway.logText()
    for (const secret of [ownKey, gateway.liveKey, gateway.testKey])
      expect(log).not.to.contain(secret)
    expect(log).not.to.match(/node_modules|\/work\/|file:\/\/|"stack"/)
    const levels = log
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { level: string }).level)
    expect(levels).to.include.members(['info', 'warn', 'error'])
  })
})

describe('a provider that cannot be reached', () => {
  for (const [name, url] of [
    ['no server listens', 'http://127.0.0.1:9'],
    ['its name is unknown', 'http://nowhere.invalid'],
  ] as const) {
    it(`is reported as 502 when ${name}`, async () => {
      const provider = { id: 'own', kind: 'openai-compatible', base_url: url, models: '*' }
      await using own = await startOwnEndpoint({ file: { providers: [provider] } })
      const startedAt = performance.now()
      await expectError(await own.chat(), failed)
      expect(performance.now() - startedAt).to.be.lessThan(5500)
    })
  }
})
