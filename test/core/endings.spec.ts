import { setImmediate as turn } from 'node:timers/promises'
import { expect } from 'chai'
import fc from 'fast-check'
import type { ChatAdapter, ChatRequest, ChatTurn } from '../../src/core/chat/chat.ts'
import { callerLeft } from '../../src/core/resilience/deadline.ts'
import { Ending } from '../../src/core/resilience/ending.ts'
import { ProviderFailure } from '../../src/core/failure.ts'
import type { Route } from '../../src/core/route.ts'
import { contextOf, gatewayWith, inputsOf } from '../support/core-gateway.ts'
import { callerWith, limitsInMemory } from '../support/limits.ts'
import { routeOf } from '../support/route.ts'

const asked: ChatRequest = { model: 'gpt-4.1', messages: [{ role: 'user', content: 'Hello.' }] }

/** Limits that count but refuse no call. */
const caller = callerWith({ concurrency: 100, tokensPerMinute: 1_000_000 })

type VendorAnswer = 'answers' | 'fails' | 'breaks'

/** A provider whose calls end when the test releases the answer or the caller disconnects. */
function routeTo(answer: () => Promise<VendorAnswer>): Route {
  const complete = async ({ signal }: ChatTurn) => {
    const left = new Promise<never>((_resolve, reject) => {
      if (signal.aborted) reject(signal.reason)
      signal.addEventListener('abort', () => reject(signal.reason))
    })
    const result = await Promise.race([answer(), left])
    if (result === 'fails') throw new ProviderFailure('malformed', 'No.')
    if (result === 'breaks') throw new Error('A bug.')
    const message = { role: 'assistant' as const, content: 'Hi.', refusal: null }
    const choices = [{ index: 0, message, logprobs: null, finish_reason: 'stop' as const }]
    const completion = { id: 'one', object: 'chat.completion' as const, created: 1, model: 'one' }
    const usage = { inputTokens: 1, outputTokens: 1, images: 0, estimated: false }
    return { completion: { ...completion, choices }, usage, bytes: 10 }
  }
  const stream = () => Promise.reject(new Error('No stream is requested here.'))
  const chat: ChatAdapter = {
    prepare: () => ({ problems: [], warnings: [], complete, stream }),
  }
  return routeOf('one', { chat })
}

/** Random properties of one call. */
const asCall = fc.record({
  question: fc.constantFrom('a', 'b'),
  leaves: fc.boolean(),
  sharesAnswers: fc.boolean(),
})
/** Results of each step in the order of use. After the last result each step succeeds. */
const asTroubles = fc.record({
  vendor: fc.array(fc.constantFrom<VendorAnswer>('answers', 'fails', 'breaks'), { maxLength: 6 }),
  recorded: fc.array(fc.boolean(), { maxLength: 6 }),
  remembered: fc.array(fc.boolean(), { maxLength: 6 }),
})

type Asked = { question: string; leaves: boolean; sharesAnswers: boolean }
type Troubles = { vendor: VendorAnswer[]; recorded: boolean[]; remembered: boolean[] }

/** A gateway in which each step waits for the scheduler. */
function stage(scheduler: fc.Scheduler, { vendor, recorded, remembered }: Troubles) {
  const soon = (label: string) => scheduler.schedule(Promise.resolve(), label)
  const route = routeTo(async () => {
    await soon('vendor')
    return vendor.shift() ?? 'answers'
  })
  const faults: unknown[] = []
  const limits = limitsInMemory()
  const { gateway } = gatewayWith([route], {
    admit: limits.admit,
    readCache: () => undefined,
    writeCache: () => {
      if (remembered.shift() === false) throw new Error('No memory.')
      return undefined
    },
    record: async () => {
      await soon('record')
      if (recorded.shift() === false) throw new Error('The disk is full.')
    },
    onFault: (fault) => void faults.push(fault),
  })
  const call = async ({ question, leaves, sharesAnswers }: Asked): Promise<string> => {
    const ending = new Ending()
    const cache = { mayRead: sharesAnswers, mayStore: true, ttlMs: undefined }
    if (leaves) void soon('leaves').then(() => ending.leave(callerLeft()))
    const answer = gateway.chat(
      inputsOf({ ...asked, user: question }),
      contextOf({ caller, ending, cache }),
    )
    return answer.then(
      () => 'answered',
      () => 'refused',
    )
  }
  const running = () => {
    const atOnce = limits.lookNow(caller).find(({ kind }) => kind === 'concurrency')
    return 100 - atOnce!.remaining
  }
  return { call, faults, running }
}

/** Runs all scheduled steps in the scheduler's order until none remain. */
async function runAll(scheduler: fc.Scheduler): Promise<void> {
  for (let idle = 0; idle < 3; idle++) {
    if (scheduler.count() > 0) idle = 0
    await scheduler.waitAll()
    await turn()
  }
}

describe('identical calls', () => {
  it('never wait for a call that has ended, whatever its outcome', async () => {
    const property = fc.asyncProperty(
      fc.scheduler(),
      fc.array(asCall, { minLength: 2, maxLength: 6 }),
      asTroubles,
      async (scheduler, calls, troubles) => {
        const { call, running } = stage(scheduler, troubles)
        const ended: string[] = []
        for (const one of calls) {
          void scheduler.schedule(Promise.resolve(), 'arrives').then(async () => {
            ended.push(await call(one))
          })
        }
        await runAll(scheduler)
        expect(ended, 'all of them end').to.have.length(calls.length)
        expect(running(), 'none of them counts as running').to.equal(0)
        for (const list of Object.values(troubles)) list.length = 0
        for (const question of ['a', 'b']) {
          let end = 'still waiting'
          const next = call({ question, leaves: false, sharesAnswers: true })
          void next.then((result) => (end = result))
          await runAll(scheduler)
          expect(end, 'the next one is answered at once').to.equal('answered')
        }
      },
    )
    await fc.assert(property, { numRuns: 300 })
  })

  it('log an answer that could not be cached, and succeed', async () => {
    const scheduler = fc.sample(fc.scheduler(), 1)[0]!
    const troubles = { vendor: [], recorded: [], remembered: [false] }
    const { call, faults } = stage(scheduler, troubles)
    const answer = call({ question: 'a', leaves: false, sharesAnswers: true })
    await runAll(scheduler)
    expect(await answer).to.equal('answered')
    expect(faults).to.have.length(1)
  })
})

describe('a stream', () => {
  it('counts as running once until its end, whatever its outcome', async () => {
    const asEnding = fc.record({
      taken: fc.boolean(),
      vendor: fc.constantFrom('answers', 'breaks'),
      leaves: fc.constantFrom('before', 'after', 'never'),
      isKept: fc.boolean(),
      reports: fc.boolean(),
    })
    const property = fc.asyncProperty(asEnding, async (one) => {
      const gate = Promise.withResolvers<void>()
      const forward = async () => {
        await gate.promise
        if (one.vendor === 'breaks') throw new ProviderFailure('malformed', 'No.')
        return { usage: one.reports ? usage : undefined, identity }
      }
      const complete = () => Promise.reject(new Error('No whole answer is requested here.'))
      const streaming: ChatAdapter = {
        prepare: () => ({
          problems: [],
          warnings: [],
          complete,
          stream: async () => ({ forward }),
        }),
      }
      const limits = limitsInMemory()
      const left = () => limits.lookNow(caller).map(({ remaining }) => remaining)
      const { gateway } = gatewayWith([routeOf('one', { chat: streaming })], {
        admit: limits.admit,
        record: () => (one.isKept ? Promise.resolve() : Promise.reject(new Error('Disk full.'))),
      })
      const ending = new Ending()
      const { pipe } = await gateway.chatStream(inputsOf(asked), contextOf({ caller, ending }))
      expect(left()[1]).to.equal(99)
      if (one.leaves === 'before') ending.leave(callerLeft())
      const ended = one.taken ? pipe(sink) : undefined
      gate.resolve()
      await ended
      if (one.leaves === 'after' || ended === undefined) ending.leave(callerLeft())
      await turn()
      expect(left()[1], 'it has ended').to.equal(100)
      expect(1_000_000 - left()[0]!, 'tokens that were used').to.be.within(0, 2)
      ending.leave(callerLeft())
      await pipe(sink)
      expect(left()[1], 'it ends once').to.equal(100)
    })
    await fc.assert(property, { numRuns: 100 })
  })

  const usage = { inputTokens: 1, outputTokens: 1, images: 0, estimated: false }
  const identity = { id: 'one', created: 1, model: 'one' }
  const chat: ChatAdapter = {
    prepare: () => ({
      problems: [],
      warnings: [],
      complete: () => Promise.reject(new Error('No whole answer is requested here.')),
      stream: async () => ({ forward: async () => ({ usage, identity }) }),
    }),
  }
  const sink = { write: () => true, onDrain: () => undefined }

  it('that is not read is recorded when its caller disconnects, and a later reader gets an error', async () => {
    const { gateway, rows } = gatewayWith([routeOf('one', { chat })])
    const ending = new Ending()
    const { pipe } = await gateway.chatStream(inputsOf(asked), contextOf({ ending }))
    ending.leave(callerLeft())
    await turn()
    expect(rows.map(({ outcome }) => outcome)).to.deep.equal(['cancelled'])
    expect((await pipe(sink)).error).to.include({ code: 'timeout' })
    expect(rows).to.have.length(1)
  })

  it('whose row cannot be recorded ends with an error after one try', async () => {
    let tries = 0
    const record = async () => {
      tries++
      throw new Error('The disk is full.')
    }
    const { gateway } = gatewayWith([routeOf('one', { chat })], { record })
    const { pipe } = await gateway.chatStream(inputsOf(asked), contextOf())
    expect((await pipe(sink)).error).to.include({ code: 'internal_error', status: 500 })
    expect(tries).to.equal(1)
  })
})
