import { expect } from 'chai'
import { completion, streamed, textChunk } from '../support/chat-answers.ts'
import { expectError } from '../support/expect-error.ts'
import type { CallOptions } from '../support/gateway.ts'
import { hello, startOwnEndpoint, type OwnEndpoint } from '../support/own-endpoint.ts'
import { pixel } from '../support/pixel.ts'
import { until } from '../support/until.ts'
import { forEachStore } from '../support/each-store.ts'

const images = '/v1/images/generations'
const edits = '/v1/images/edits'
const chats = '/v1/chat/completions'
const chat = { model: 'own/house-1', messages: hello }
const picture = { model: 'own/painter', prompt: 'a fox' }
const painted = { body: { created: 1, data: [{ b64_json: pixel.split(',')[1] }] } }

const inUse = {
  status: 409,
  code: 'idempotency_key_in_use',
  type: 'invalid_request_error',
} as const
const reused = { ...inUse, code: 'idempotency_key_reused' } as const

let count = 0
/** A key unique to the test. */
const newKey = () => `test-${++count}`

forEachStore('a request with an idempotency key', () => {
  let own: OwnEndpoint
  before(async () => {
    own = await startOwnEndpoint({
      limits: { cache_ttl_seconds: 0 },
      file: { routes: { 'zai/cogview-4': ['own/painter'] } },
    })
  })
  after(() => own.stop())

  const ask = (path: string, body: object, key: string | null, init: CallOptions = {}) => {
    const headers = { ...(key === null ? {} : { 'idempotency-key': key }), ...init.headers }
    return own.gateway.post(path, body, { key: own.gateway.liveKey, ...init, headers })
  }
  const rowsSince = async (before: number) => (await own.gateway.usage()).length - before
  const countRows = async () => (await own.gateway.usage()).length

  const subjects = [
    { name: 'a chat', path: chats, body: chat, answer: completion('Hi.') },
    {
      name: 'a stream',
      path: chats,
      body: { ...chat, stream: true, stream_options: { include_usage: true } },
      answer: streamed(['One ', 'two.']),
    },
    { name: 'a picture', path: images, body: picture, answer: painted },
    {
      name: 'a picture in chat',
      path: chats,
      body: { ...chat, model: 'zai/cogview-4', stream: true },
      answer: painted,
    },
    {
      name: 'an edit',
      path: edits,
      body: { ...picture, images: [{ image_url: pixel }] },
      answer: painted,
    },
  ]
  for (const { name, path, body, answer } of subjects) {
    it(`for ${name} gets the recorded answer again, at no cost`, async () => {
      const key = newKey()
      own.upstream.answer(answer)
      const before = await countRows()
      const first = await ask(path, body, key)
      const text = await first.text()
      expect(first.status, text).to.equal(200)
      expect(first.headers.get('idempotent-replayed')).to.equal(null)
      const again = await ask(path, body, key)
      expect(await again.text()).to.equal(text)
      expect(again.headers.get('idempotent-replayed')).to.equal('true')
      const lasting = (headers: Headers) =>
        [...headers].filter(
          ([one]) =>
            !/^(date|idempotent|x-ratelimit|ratelimit|content-length|transfer|keep|conn)/.test(one),
        )
      expect(lasting(again.headers)).to.deep.equal(lasting(first.headers))
      expect(own.upstream.requests).to.have.length(1)
      const rows = await own.gateway.usage()
      expect(rows.length - before).to.equal(1)
      expect(rows.at(-1)!.id).to.equal(again.headers.get('x-request-id'))
    })
  }

  it('is a different request when a member or a header that changes the answer differs', async () => {
    const key = newKey()
    own.upstream.answer(completion('Hi.'))
    expect((await ask(chats, chat, key)).status).to.equal(200)
    const others: [string, object, CallOptions][] = [
      [chats, { ...chat, temperature: 0.5 }, {}],
      [chats, chat, { headers: { 'x-gateway-strict': 'true' } }],
      [chats, chat, { headers: { 'x-gateway-no-fallback': 'true' } }],
      [images, picture, {}],
    ]
    for (const [path, body, init] of others) {
      const response = await ask(path, body, key, init)
      expect(response.headers.get('x-should-retry')).to.equal('false')
      await expectError(response, { ...reused, param: 'idempotency-key' })
    }
    expect(own.upstream.requests).to.have.length(1)
  })

  it('is the same request in any order of its members', async () => {
    const key = newKey()
    own.upstream.answer(completion('Hi.'))
    await ask(chats, { model: 'own/house-1', messages: hello, temperature: 1 }, key)
    const again = await ask(chats, { temperature: 1, messages: hello, model: 'own/house-1' }, key)
    expect(again.headers.get('idempotent-replayed')).to.equal('true')
  })

  it('is 409 while the first is in progress; of fifty at once only one is executed', async () => {
    const key = newKey()
    const go = Promise.withResolvers<void>()
    own.upstream.answer({ ...completion('Hi.'), after: go.promise })
    const before = await countRows()
    const startedAt = performance.now()
    const all = Array.from({ length: 50 }, () => ask(chats, chat, key))
    const early = await Promise.all(
      all.map(async (one) => {
        const response = await one
        if (response.status === 409) {
          // The time that the first has taken.
          const seconds = Math.ceil((performance.now() - startedAt) / 1000)
          expect(Number(response.headers.get('retry-after'))).to.be.within(1, seconds)
          expect(response.headers.get('x-should-retry')).to.equal(null)
          await expectError(response, inUse)
          refused++
          if (refused === 49) go.resolve()
        }
        return response.status
      }),
    )
    expect(early.filter((status) => status === 200)).to.have.length(1)
    expect(own.upstream.requests).to.have.length(1)
    expect(await rowsSince(before)).to.equal(1)
    expect((await ask(chats, chat, key)).headers.get('idempotent-replayed')).to.equal('true')
  })
  let refused = 0

  const keys: [name: string, key: string][] = [
    ['no characters', ''],
    ['300 characters', 'x'.repeat(300)],
    ['256 characters', 'x'.repeat(256)],
    ['a blank', 'a b'],
    ['a letter that is not ASCII', 'schlüssel'],
    ['a tab', 'a\tb'],
  ]
  for (const [name, key] of keys) {
    it(`is 400 with a key of ${name}`, async () => {
      own.upstream.answer(completion('Hi.'))
      for (const { path, body } of subjects) {
        const response = await ask(path, body, key)
        await expectError(response, {
          status: 400,
          code: 'invalid_value',
          param: 'idempotency-key',
        })
      }
      expect(own.upstream.requests).to.have.length(0)
    })
  }

  it('may have a key of 255 visible characters', async () => {
    own.upstream.answer(completion('Hi.'))
    expect((await ask(chats, chat, '"!~\'%'.padEnd(255, 'x'))).status).to.equal(200)
  })

  it('is 400 with two keys', async () => {
    const headers = new Headers({
      authorization: `Bearer ${own.gateway.liveKey}`,
      'content-type': 'application/json',
    })
    headers.append('idempotency-key', 'one')
    headers.append('idempotency-key', 'two')
    const body = JSON.stringify(chat)
    const response = await fetch(own.gateway.url + chats, { method: 'POST', headers, body })
    await expectError(response, { status: 400, code: 'invalid_value', param: 'idempotency-key' })
  })

  it('is separate for each account and mode', async () => {
    const key = newKey()
    const { gateway } = own
    own.upstream.answer((_request, index) => completion(`Answer ${index}.`))
    const account = await gateway.createAccount()
    const others = [
      gateway.liveKey,
      await gateway.createKey('live', { accountId: account }),
      gateway.testKey,
    ]
    const model = 'gpt-5-mini'
    for (const one of others) {
      const body = one === gateway.testKey ? { ...chat, model } : chat
      const response = await ask(chats, body, key, { key: one })
      expect(response.status, await response.text()).to.equal(200)
      expect(response.headers.get('idempotent-replayed')).to.equal(null)
    }
    expect(own.upstream.requests).to.have.length(2)
  })

  it('gives a restricted API key no answer that another key of the account requested', async () => {
    const key = newKey()
    own.upstream.answer(completion('Hi.'))
    const limited = await own.gateway.createKey('live', { models: ['own/house-2'] })
    const other = await own.gateway.createKey('live')
    expect((await ask(chats, chat, key)).status).to.equal(200)
    const replayed = await ask(chats, chat, key, { key: other })
    expect(replayed.headers.get('idempotent-replayed')).to.equal('true')
    await expectError(await ask(chats, chat, key, { key: limited }), reused)
  })

  describe('that fails', () => {
    it('before any work can be corrected under its key', async () => {
      const key = newKey()
      own.upstream.answer(completion('Hi.'))
      const wrong = await ask(chats, { ...chat, model: 'nobody/knows' }, key)
      await expectError(wrong, { status: 404, code: 'model_not_found' })
      expect((await ask(chats, chat, key)).status).to.equal(200)
    })

    it('at its provider may succeed when it is repeated', async () => {
      const key = newKey()
      own.upstream.answer({ status: 500 })
      await expectError(await ask(chats, chat, key), { status: 502, code: 'provider_error' })
      own.upstream.answer(completion('Hi.'))
      expect((await ask(chats, chat, key)).status).to.equal(200)
    })

    it('permanently gets the same error again without a new call', async () => {
      const key = newKey()
      const refusal = { error: { message: 'No.', code: 'content_policy_violation' } }
      own.upstream.answer({ status: 400, body: refusal })
      const first = await ask(images, picture, key)
      const expected = { status: 400, code: 'content_policy_violation' } as const
      await expectError(first, expected)
      const again = await ask(images, picture, key)
      expect(again.headers.get('idempotent-replayed')).to.equal('true')
      expect(again.headers.get('x-request-id')).to.equal(first.headers.get('x-request-id'))
      await expectError(again, expected)
      expect(own.upstream.requests).to.have.length(1)
    })

    it('in the middle of its stream may succeed when it is repeated', async () => {
      const key = newKey()
      const body = { ...chat, stream: true }
      own.upstream.answer({ pieces: [textChunk('One ')], reset: 'after' })
      expect(await (await ask(chats, body, key)).text()).to.contain('event: error')
      own.upstream.answer(streamed(['One ', 'two.']))
      expect(await (await ask(chats, body, key)).text()).to.contain('[DONE]')
    })

    it('with a picture that may have been made gets the same error until the caller allows a repeat', async () => {
      const key = newKey()
      own.upstream.answer({ reset: 'before' })
      const first = await ask(images, picture, key)
      await expectError(first, { status: 502, code: 'provider_error' })
      own.upstream.answer(painted)
      const again = await ask(images, picture, key)
      expect(again.headers.get('x-should-retry')).to.equal('false')
      expect(again.headers.get('idempotent-replayed')).to.equal('true')
      await expectError(again, { status: 502, code: 'provider_error' })
      expect(own.upstream.requests).to.have.length(0)
      const headers = { 'x-gateway-allow-repeat': 'true' }
      expect((await ask(images, picture, key, { headers })).status).to.equal(200)
      const last = await ask(images, picture, key)
      expect(last.headers.get('idempotent-replayed')).to.equal('true')
      expect(last.status).to.equal(200)
    })
  })

  it('runs to its end when its caller disconnects while it waits for a slow reader', async () => {
    const key = newKey()
    const text = 'x'.repeat(4_000_000)
    own.upstream.answer(streamed([text, 'end.']))
    const leaving = new AbortController()
    const body = { ...chat, stream: true }
    const response = await ask(chats, body, key, { signal: leaving.signal })
    expect(response.status).to.equal(200)
    leaving.abort()
    await until('the answer is kept', async () => (await ask(chats, body, key)).status === 200)
    const again = await (await ask(chats, body, key)).text()
    expect(again).to.contain('end.').and.to.contain('[DONE]')
    expect(own.upstream.requests).to.have.length(1)
  })
})
