import { setTimeout as sleep } from 'node:timers/promises'
import type { Chance } from '../../test/support/chance.ts'
import { chunk, completion } from '../../test/support/chat-answers.ts'
import { until } from '../../test/support/until.ts'
import type { ReceivedRequest, ScriptedAnswer } from '../../test/support/upstream.ts'
import { faultsOf, readLedger, type Ledger } from './ledger.ts'
import { ask, type Answer } from './calls.ts'
import type { Fleet } from './fleet.ts'
import type { Victim } from './victims.ts'

/** When the victim is killed, relative to the calls to the vendor. */
export const phases = ['before', 'during', 'after'] as const
export type Phase = (typeof phases)[number]

export type Round = { answers: Answer[]; faults: string[] }

const calls = 24
const settleMs = 30_000
const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }

type Options = {
  fleet: Fleet
  /** The number of requests to the vendor by question, in all rounds. */
  charged: Map<string, number>
  key: string
  victim: Victim
  phase: Phase
  chance: Chance
  name: string
}

/** Calls all gateways at once and kills the victim during the calls; returns faults of the ledger. */
export async function runRound({
  fleet,
  charged,
  key,
  victim,
  phase,
  chance,
  name,
}: Options): Promise<Round> {
  const { upstream, replicas } = fleet
  let [seen, ended] = [0, 0]
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
    void request.closed.then(() => {
      if (phase === 'after' && ended++ === killAt) setTimeout(kill, chance.below(10))
    })
    if (phase !== 'during') return { ...answerTo(request), delayMs: chance.below(60) }
    if (++seen === killAt + 1) setTimeout(kill, chance.below(20))
    return { ...answerTo(request), after: dead.promise, delayMs: 20 }
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
  // Kills the victim even if the calls ended early, or no call reached the vendor.
  const late = sleep(2000).then(kill)
  const answers = await Promise.all(asked)
  await late
  await back
  const faults = faultsOf(answers, await untilQuiet(fleet), charged)
  const taken = await ask({
    url: replicas[0]!.url,
    key,
    question: `${name} last`,
    isStreamed: false,
  })
  const isOpen = taken.status === 200
  return {
    answers,
    faults: isOpen ? faults : [...faults, `a call after recovery is answered with ${taken.status}`],
  }
}

/** Waits until journaled rows are stored and reservations of killed processes are released. */
async function untilQuiet({ databaseUrl, replicas }: Fleet): Promise<Ledger> {
  await until(
    'all gateways are ready',
    async () => {
      const ready = await Promise.all(
        replicas.map(({ url }) =>
          fetch(`${url}/ready`, { signal: AbortSignal.timeout(5000) }).then(
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
    const ledger = await readLedger(databaseUrl)
    if (ledger.reservations === 0 || performance.now() > givesUpAt) return ledger
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
