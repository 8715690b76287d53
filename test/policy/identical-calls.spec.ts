import { expect } from 'chai'
import { completion, refusal } from '../support/chat-answers.ts'
import type { CallOptions } from '../support/gateway.ts'
import { startOwnEndpoint, type OwnEndpoint } from '../support/own-endpoint.ts'
import { until } from '../support/until.ts'

describe('identical calls at the same time', () => {
  let own: OwnEndpoint
  let release: () => void
  before(async () => {
    // Without a memory, whatever is shared is shared in flight.
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

  /** Starts a call, and resolves when the gateway is at work on it. */
  async function start(init: CallOptions = {}): Promise<{ answer: Promise<Response> }> {
    const answer = own.chat({}, init)
    answer.catch(() => undefined)
    await until('the first call is with the provider', () => own.upstream.requests.length > 0)
    // What is sent now arrives later.
    for (let turn = 0; turn < 3; turn++) await own.gateway.fetch('/health')
    return { answer }
  }
  const cacheOf = (response: Response) => response.headers.get('x-gateway-cache')
  const saidBy = async (response: Response) =>
    ((await response.json()) as { choices: { message: { content: string } }[] }).choices[0]!.message
      .content

  it('share one answer of the provider, which is paid for once', async () => {
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

  it('share nothing when one wants a fresh answer', async () => {
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

  it('go on without the caller who came first and left', async () => {
    const leaving = new AbortController()
    const first = await start({ signal: leaving.signal })
    const second = await start()
    leaving.abort()
    const left = await first.answer.catch((error: unknown) => (error as Error).name)
    await own.upstream.requests[0]!.closed
    release()
    const answer = await second.answer
    expect(left).to.equal('AbortError')
    expect(answer.status).to.equal(200)
    expect(await saidBy(answer)).to.equal('answer 1')
    expect(own.upstream.requests).to.have.length(2)
  })

  it('are made by one for all, however often the one who makes it leaves', async () => {
    const leaving = [new AbortController(), new AbortController(), new AbortController()]
    const calls: Promise<Response>[] = []
    for (let count = 0; count < 6; count += 1) {
      const signal = leaving[count]?.signal
      calls.push((await start(signal === undefined ? {} : { signal })).answer)
    }
    for (const [index, one] of leaving.entries()) {
      await until('the call is with the provider', () => own.upstream.requests.length > index)
      one.abort()
      await own.upstream.requests[index]!.closed
    }
    await until(
      'the call is with the provider',
      () => own.upstream.requests.length > leaving.length,
    )
    release()
    const answers = await Promise.all(calls.slice(leaving.length))
    expect(own.upstream.requests).to.have.length(leaving.length + 1)
    expect(answers.map(cacheOf)).to.deep.equal(['miss', 'hit', 'hit'])
    expect(await Promise.all(answers.map(saidBy))).to.deep.equal(Array(3).fill('answer 3'))
  })

  it('go on when all who wait have left but one', async () => {
    const leaving = [new AbortController(), new AbortController(), new AbortController()]
    const calls = []
    for (const { signal } of leaving) calls.push(await start({ signal }))
    const last = await start()
    for (const one of leaving.toReversed()) one.abort()
    await Promise.allSettled(calls.map(({ answer }) => answer))
    await own.upstream.requests[0]!.closed
    release()
    const answer = await last.answer
    expect(answer.status).to.equal(200)
    expect(cacheOf(answer)).to.equal('miss')
  })

  it('end in time with the heir whose answer takes too long', async () => {
    await using own = await startOwnEndpoint({
      limits: { cache_ttl_seconds: 0, chat_timeout_ms: 1000 },
    })
    const leaving = new AbortController()
    own.upstream.answer({ ...completion('Hi.'), after: new Promise(() => undefined) })
    const first = own.chat({}, { signal: leaving.signal }).catch(() => undefined)
    await until('the first call is with the provider', () => own.upstream.requests.length > 0)
    const early = own.chat()
    for (let turn = 0; turn < 3; turn += 1) await own.gateway.fetch('/health')
    leaving.abort()
    await until('the second call is with the provider', () => own.upstream.requests.length > 1)
    const late = own.chat()
    expect((await early).status).to.equal(504)
    expect((await late).status).to.equal(504)
    await first
    expect(own.upstream.requests).to.have.length(2)
  })

  it('go on when a later caller leaves', async () => {
    const recorded = (await own.gateway.usage()).length
    const first = await start()
    await until('its row is there, before there is an answer', async () => {
      // One that leaves before it has arrived leaves no row.
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

  it('fail side by side without harm', async () => {
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
