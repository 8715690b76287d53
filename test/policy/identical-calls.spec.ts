import { expect } from 'chai'
import { completion, refusal } from '../support/chat-answers.ts'
import type { CallOptions } from '../support/gateway.ts'
import { startOwnEndpoint, type OwnEndpoint } from '../support/own-endpoint.ts'
import { until } from '../support/until.ts'

describe('identical concurrent calls', () => {
  let own: OwnEndpoint
  let release: () => void
  before(async () => {
    // Disables the cache, so that only running calls can be shared.
    own = await startOwnEndpoint({ limits: { cache_ttl_seconds: 0 } })
  })
  after(() => own.stop())
  afterEach(() => release())
  beforeEach(() => {
    const gate = Promise.withResolvers<void>()
    release = gate.resolve
    own.upstream.answer((_request, index) => ({
      ...completion(`answer ${index}`),
      after: gate.promise,
    }))
  })

  /** Starts a call, and resolves when the gateway is processing it. */
  async function start(init: CallOptions = {}): Promise<{ answer: Promise<Response> }> {
    const answer = own.chat({}, init)
    answer.catch(() => undefined)
    await until('the first call is with the provider', () => own.upstream.requests.length > 0)
    // Answers to later requests show that this call has arrived.
    for (let turn = 0; turn < 3; turn++) await own.gateway.fetch('/health')
    return { answer }
  }
  const cacheOf = (response: Response) => response.headers.get('x-gateway-cache')
  const saidBy = async (response: Response) =>
    ((await response.json()) as { choices: { message: { content: string } }[] }).choices[0]!.message
      .content

  it('share one answer of the provider, which is charged once', async () => {
    const calls = [await start(), await start(), await start()]
    release()
    const answers = await Promise.all(calls.map(({ answer }) => answer))
    expect(own.upstream.requests).to.have.length(1)
    expect(answers.map(cacheOf)).to.deep.equal(['miss', 'hit', 'hit'])
    expect(await Promise.all(answers.map(saidBy))).to.deep.equal(Array(3).fill('answer 0'))
    const rows = (await own.gateway.usage()).slice(-3)
    expect(rows.map(({ cost_status: status }) => status)).to.have.members([
      'unknown',
      'cached',
      'cached',
    ])
  })

  it('are separate when one requires a fresh answer', async () => {
    const calls = [await start(), await start({ headers: { 'cache-control': 'no-cache' } })]
    await until('both are with the provider', () => own.upstream.requests.length === 2)
    release()
    const answers = await Promise.all(calls.map(({ answer }) => answer))
    expect(answers.map(cacheOf)).to.deep.equal(['miss', 'bypass'])
  })

  it('share nothing between accounts', async () => {
    const key = await own.gateway.createKey('live', {
      accountId: await own.gateway.createAccount(),
    })
    const calls = [await start(), await start({ key })]
    await until('both are with the provider', () => own.upstream.requests.length === 2)
    release()
    const answers = await Promise.all(calls.map(({ answer }) => answer))
    expect(answers.map(cacheOf)).to.deep.equal(['miss', 'miss'])
  })

  it('are made once and continue when the first caller disconnects', async () => {
    const recorded = (await own.gateway.usage()).length
    const leaving = [new AbortController(), new AbortController(), new AbortController()]
    const calls: Promise<Response>[] = []
    for (let count = 0; count < 5; count += 1) {
      const signal = leaving[count]?.signal
      calls.push((await start(signal === undefined ? {} : { signal })).answer)
    }
    for (const one of leaving) one.abort()
    await Promise.allSettled(calls.slice(0, leaving.length))
    const later = await start()
    release()
    const answers = await Promise.all([...calls.slice(leaving.length), later.answer])
    expect(own.upstream.requests.map(({ aborted }) => aborted)).to.deep.equal([false])
    expect(answers.map(cacheOf)).to.deep.equal(['hit', 'hit', 'hit'])
    expect(await Promise.all(answers.map(saidBy))).to.deep.equal(Array(3).fill('answer 0'))
    const rows = (await own.gateway.usage()).slice(recorded)
    expect(rows.map(({ outcome, cache }) => `${outcome} ${cache}`)).to.have.members([
      'ok miss',
      'cancelled miss',
      'cancelled miss',
      ...Array<string>(3).fill('ok hit'),
    ])
  })

  it('end at the deadline when the answer takes too long, though the first caller disconnected', async () => {
    await using own = await startOwnEndpoint({
      limits: { cache_ttl_seconds: 0, chat_timeout_ms: 1000 },
    })
    const leaving = new AbortController()
    own.upstream.answer({ ...completion('Hi.'), after: new Promise(() => undefined) })
    const first = own.chat({}, { signal: leaving.signal }).catch(() => undefined)
    await until('the first call is with the provider', () => own.upstream.requests.length > 0)
    const second = own.chat()
    for (let turn = 0; turn < 3; turn += 1) await own.gateway.fetch('/health')
    leaving.abort()
    expect((await second).status).to.equal(504)
    await first
    expect(own.upstream.requests).to.have.length(1)
  })

  it('continue when a later caller disconnects', async () => {
    const recorded = (await own.gateway.usage()).length
    const first = await start()
    await until('its row is there, before there is an answer', async () => {
      // A caller who disconnects before the request arrives has no row.
      const leaving = new AbortController()
      const later = await start({ signal: leaving.signal })
      leaving.abort()
      await later.answer.catch(() => undefined)
      const rows = (await own.gateway.usage()).slice(recorded)
      return rows.length > 0 && rows.every(({ outcome }) => outcome === 'cancelled')
    })
    release()
    expect((await first.answer).status).to.equal(200)
    expect(own.upstream.requests.map(({ aborted }) => aborted)).to.deep.equal([false])
  })

  it('share a failure, and the next call tries again', async () => {
    const gate = Promise.withResolvers<void>()
    own.upstream.answer({ ...refusal(503), after: gate.promise })
    const calls = [await start(), await start()]
    gate.resolve()
    const answers = await Promise.all(calls.map(({ answer }) => answer))
    expect(answers.map(({ status }) => status)).to.deep.equal([502, 502])
    expect(own.upstream.requests).to.have.length(1)
    own.upstream.answer(completion('Hi.'))
    expect((await own.chat()).status).to.equal(200)
  })

  it('fail together without harm', async () => {
    const gate = Promise.withResolvers<void>()
    own.upstream.answer({ ...refusal(503), after: gate.promise })
    const calls = [await start(), await start({ headers: { 'cache-control': 'no-cache' } })]
    await until('both are with the provider', () => own.upstream.requests.length === 2)
    const unhandled: unknown[] = []
    const listener = (reason: unknown) => unhandled.push(reason)
    process.on('unhandledRejection', listener)
    try {
      gate.resolve()
      const answers = await Promise.all(calls.map(({ answer }) => answer))
      expect(answers.map(({ status }) => status)).to.deep.equal([502, 502])
    } finally {
      process.off('unhandledRejection', listener)
    }
    expect(unhandled).to.deep.equal([])
  })
})
