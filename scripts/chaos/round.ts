import { setTimeout as sleep } from 'node:timers/promises'
import type { Chance } from '../../test/support/chance.ts'
import { chunk, completion } from '../../test/support/chat-answers.ts'
import { until } from '../../test/support/until.ts'
import type { ReceivedRequest, ScriptedAnswer } from '../../test/support/upstream.ts'
import { faultsOf, readBooks, type Books } from './books.ts'
import { ask, type Answer } from './calls.ts'
import type { Fleet } from './fleet.ts'
import type { Victim } from './victims.ts'

/** When the victim is killed, seen from the calls at the vendor. */
export const phases = ['before', 'during', 'after'] as const
export type Phase = (typeof phases)[number]

export type Round = { answers: Answer[]; faults: string[] }

const calls = 24
const settleMs = 30_000
const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }

type Options = { fleet: Fleet; victim: Victim; phase: Phase; chance: Chance; name: string }

/** Calls at all gateways at once, and one death among them; afterwards the books have to be right. */
export async function runRound({ fleet, victim, phase, chance, name }: Options): Promise<Round> {
  const { upstream, replicas, key } = fleet
  const charged = new Map<string, number>()
  const killAt = chance.below(calls)
  let back: Promise<void> | undefined
  const dead = Promise.withResolvers<void>()
  const kill = () => {
    back ??= victim.kill(fleet, chance)()
    dead.resolve()
  }
  upstream.answer((request) => {
    const question = questionIn(request)
    charged.set(question, (charged.get(question) ?? 0) + 1)
    if (charged.size === killAt + 1) {
      if (phase === 'during') setTimeout(kill, chance.below(20))
      if (phase === 'after') void request.closed.then(() => setTimeout(kill, chance.below(3)))
    }
    return { ...answerTo(request), ...(phase === 'during' && { after: dead.promise, delayMs: 20 }) }
  })
  if (phase === 'before') setTimeout(kill, chance.below(8))
  const asked = Array.from({ length: calls }, (_, index) =>
    ask({
      url: replicas[index % replicas.length]!.url,
      key,
      question: `${name} ${index}`,
      isStreamed: index % 4 > 1,
    }),
  )
  // Where the calls were over before it, or none came so far.
  const late = sleep(2000).then(kill)
  const answers = await Promise.all(asked)
  await late
  await back
  const books = await untilQuiet(fleet)
  const taken = await ask({
    url: replicas[0]!.url,
    key,
    question: `${name} last`,
    isStreamed: false,
  })
  const isOpen = taken.status === 200
  return {
    answers,
    faults: [
      ...faultsOf(answers, books, charged),
      ...(isOpen ? [] : [`a call afterwards is answered with ${taken.status}`]),
    ],
  }
}

/** What is kept elsewhere comes into the store, and what the dead held comes free. */
async function untilQuiet({ databaseUrl, replicas }: Fleet): Promise<Books> {
  await until(
    'all gateways take calls',
    async () => {
      const ready = await Promise.all(
        replicas.map(({ url }) =>
          fetch(`${url}/ready`).then(
            ({ ok }) => ok,
            () => false,
          ),
        ),
      )
      return ready.every(Boolean)
    },
    settleMs,
  )
  const givesUpAt = performance.now() + settleMs
  for (;;) {
    const books = await readBooks(databaseUrl)
    if (books.reservations === 0 || performance.now() > givesUpAt) return books
    await sleep(100)
  }
}

function questionIn({ body }: ReceivedRequest): string {
  return (body as { messages: { content: string }[] }).messages[0]!.content
}

function answerTo({ body }: ReceivedRequest): ScriptedAnswer {
  const { stream } = body as { stream?: boolean }
  if (stream !== true) return completion('Yes.', { usage })
  const delta = { index: 0, delta: { role: 'assistant', content: 'Yes.' }, finish_reason: null }
  const end = { index: 0, delta: {}, finish_reason: 'stop' }
  return {
    headers: { 'content-type': 'text/event-stream' },
    pieces: [
      chunk({ choices: [delta] }),
      chunk({ choices: [end] }),
      chunk({ choices: [], usage }),
      'data: [DONE]\n\n',
    ],
  }
}
