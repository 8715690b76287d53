import { expect } from 'chai'
import { callerLeft } from '../../../src/core/resilience/deadline.ts'
import { Ending } from '../../../src/core/resilience/ending.ts'
import { ProviderFailure } from '../../../src/core/failure.ts'
import type { ChatTurn } from '../../../src/core/chat/chat.ts'
import { fingerprintKeyBytes } from '../../../src/core/repeats/fingerprint.ts'
import { createDeduplication } from '../../../src/core/repeats/in-flight.ts'
import { contextOf, gatewayWith, inputsOf } from '../../support/core-gateway.ts'
import { togetherInRedis, type TestProcess, type Together } from '../../support/redis-caches.ts'
import { routeOf } from '../../support/route.ts'
import { programPath } from '../../support/program-path.ts'
import { until } from '../../support/until.ts'

/** A provider for all processes, whose answers the test releases. */
function vendor() {
  const asked: { process: number; end: PromiseWithResolvers<'answers' | 'fails'> }[] = []
  let size = 0
  const routeFrom = (process: number) => {
    const complete = async ({ signal }: ChatTurn) => {
      const end = Promise.withResolvers<'answers' | 'fails'>()
      asked.push({ process, end })
      const number = asked.length
      signal.addEventListener('abort', () => end.reject(signal.reason))
      if ((await end.promise) === 'fails') throw new ProviderFailure('malformed', 'No.')
      const content = `answer ${number}${' '.repeat(size)}`
      const message = { role: 'assistant' as const, content, refusal: null }
      const choices = [{ index: 0, message, logprobs: null, finish_reason: 'stop' as const }]
      const completion = { id: 'one', object: 'chat.completion' as const, created: 1, model: 'one' }
      const usage = { inputTokens: 1, outputTokens: 1, images: 0, estimated: false }
      return { completion: { ...completion, choices }, usage, bytes: 100 + size }
    }
    const stream = () => Promise.reject(new Error('No stream is requested here.'))
    const prepare = () => ({ problems: [], warnings: [], complete, stream })
    return routeOf('one', { chat: { prepare } })
  }
  return { asked, routeFrom, setSize: (bytes: number) => (size = bytes) }
}

describe('identical calls of several processes, combined through Redis', () => {
  let together: Together
  let upstream: ReturnType<typeof vendor>
  let call: (process: number, options?: { question?: string; ending?: Ending }) => Promise<string>
  before(function () {
    programPath('redis-server', this)
  })
  afterEach(() => together.end())
  const start = async (options: Parameters<typeof togetherInRedis>[0] = {}) => {
    together = await togetherInRedis({ count: 3, ...options })
    upstream = vendor()
    const gateways = together.processes.map((process, index) => coreOf(process, index))
    call = async (process, { question = 'Hello.', ending = new Ending() } = {}) => {
      const messages = [{ role: 'user' as const, content: question }]
      const context = contextOf({ ending })
      const inputs = inputsOf({ model: 'gpt-4.1', messages })
      const answer = await gateways[process]!.chat(inputs, context)
      return answer.result.completion.choices[0]!.message.content!.trim()
    }
  }
  const coreOf = (
    { readCache, readSharedCache, writeCache, claim }: TestProcess,
    index: number,
  ) => {
    const fingerprintKey = Buffer.alloc(fingerprintKeyBytes)
    const parts = {
      readCache,
      readSharedCache,
      writeCache,
      ...createDeduplication(fingerprintKey, claim),
    }
    return gatewayWith([upstream.routeFrom(index)], parts).gateway
  }
  const isAsked = (times: number) =>
    until(`${times} are asked for`, () => upstream.asked.length >= times)
  /** Waits long enough for all processes to see the current claims. */
  const settled = () => new Promise((resolve) => setTimeout(resolve, 60))
  const answers = (from = 0) => {
    for (const { end } of upstream.asked.slice(from)) end.resolve('answers')
  }

  it('share one answer of the provider', async () => {
    await start()
    const calls = Array.from({ length: 20 }, (_, index) => call(index % 3))
    await isAsked(1)
    await settled()
    answers()
    expect(new Set(await Promise.all(calls))).to.deep.equal(new Set(['answer 1']))
    expect(upstream.asked).to.have.length(1)
  })

  it('are separate when they are not identical', async () => {
    await start()
    const calls = ['a', 'b'].map((question, index) => call(index, { question }))
    await isAsked(2)
    answers()
    expect((await Promise.all(calls)).toSorted()).to.deep.equal(['answer 1', 'answer 2'])
  })

  it('are made by exactly one waiting process when the first one fails', async () => {
    await start()
    const first = call(0).catch(() => 'not answered')
    await isAsked(1)
    const others = [1, 2, 1, 2].map((process) => call(process))
    await settled()
    upstream.asked[0]!.end.resolve('fails')
    expect(await first).to.equal('not answered')
    await isAsked(2)
    await settled()
    expect(upstream.asked).to.have.length(2)
    answers(1)
    expect(new Set(await Promise.all(others))).to.deep.equal(new Set(['answer 2']))
  })

  it('are made once when the first caller disconnects', async () => {
    await start()
    const ending = new Ending()
    const first = call(0, { ending })
    await isAsked(1)
    const others = [1, 2, 1, 2].map((process) => call(process))
    await settled()
    ending.leave(callerLeft())
    await settled()
    answers()
    expect(new Set(await Promise.all([first, ...others]))).to.deep.equal(new Set(['answer 1']))
    expect(upstream.asked).to.have.length(1)
  })

  it('continue when a caller disconnects that waits for another process', async () => {
    await start()
    const first = call(0)
    await isAsked(1)
    const ending = new Ending()
    const leaving = call(1, { ending }).catch(() => 'not answered')
    const staying = [call(1), call(2)]
    await settled()
    ending.leave(callerLeft())
    expect(await leaving).to.equal('not answered')
    answers()
    expect(await Promise.all([first, ...staying])).to.deep.equal(Array(3).fill('answer 1'))
  })

  it('are made again after all callers have disconnected', async () => {
    await start()
    const endings = [new Ending(), new Ending()]
    const calls = endings.map((ending, index) =>
      call(index, { ending }).catch(() => 'not answered'),
    )
    await isAsked(1)
    await settled()
    for (const ending of endings) ending.leave(callerLeft())
    upstream.asked[0]!.end.resolve('fails')
    await Promise.all(calls)
    const last = call(2)
    await isAsked(2)
    upstream.asked.at(-1)!.end.resolve('answers')
    expect(await last).to.match(/^answer [23]$/)
  })

  it('run concurrently when the answer is too large to be cached', async () => {
    await start()
    upstream.setSize(5_000_000)
    const calls = [0, 1, 2, 1, 2].map((process) => call(process))
    await isAsked(1)
    await settled()
    answers()
    // The other processes call the provider themselves, at the same time.
    await isAsked(3)
    answers()
    const results = await Promise.all(calls)
    expect(new Set(results).size).to.equal(3)
  })

  it('are made by each process when the lease is lost', async () => {
    await start({ timeoutMs: 150 })
    together.redis!.kill('SIGSTOP')
    const calls = [0, 1, 2].map((process) => call(process))
    await isAsked(3)
    answers()
    expect((await Promise.all(calls)).toSorted()).to.deep.equal([
      'answer 1',
      'answer 2',
      'answer 3',
    ])
  })

  it('are made by one waiting process when the lease of a dead process expires', async () => {
    await start()
    const { connection } = together
    const first = call(0)
    await isAsked(1)
    const [prefixed] = await connection!.run((commands) => commands.keys('*claims*'))
    const name = prefixed!.replace('gateway:', '')
    const leftMs = await connection!.run((commands) => commands.pTTL(name))
    expect(leftMs).to.be.within(5000, 10_000)
    const others = [call(1), call(2)]
    await settled()
    await connection!.run((commands) => commands.del(name))
    await isAsked(2)
    await settled()
    expect(upstream.asked).to.have.length(2)
    answers()
    await Promise.all([first, ...others])
  })
})
