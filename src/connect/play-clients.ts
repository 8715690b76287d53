import { hasNoAnswer, type Answer, type Ask, type Requester, type NoAnswer } from './ask.ts'
import { brokenAnswer } from './checks/any-answer.ts'
import { clients, type Client } from './clients.ts'
import { withoutIds, type Fault } from './fault.ts'
import type { ClientState, Step } from './step.ts'
import { stepsOf } from './client-steps.ts'
import type { Target } from './target.ts'

export type ClientResult = Awaited<ReturnType<typeof play>>

/** Runs the steps of each client in turn; equal GET requests of several clients are sent once. */
export async function playClients(requester: Requester, target: Target): Promise<ClientResult[]> {
  const ask = cachingAnswers(requester)
  const results: ClientResult[] = []
  for (const client of clients) results.push(await play(client, ask, target))
  return results
}

type Asking = (ask: Ask) => Promise<Answer | NoAnswer>

async function play(client: Client, ask: Asking, target: Target) {
  const state: ClientState = { target, client, request: '' }
  const works = new Set<string>()
  const faults: Fault[] = []
  /** Whether a registration was rate-limited, so that later steps were skipped. */
  let isLimited = false
  for (const step of stepsOf(client)) {
    const asked = step.ask(state)
    if (asked === undefined) continue
    const headers = { 'user-agent': client.userAgent, ...asked.headers }
    const response = await ask({ ...asked, headers })
    if (!hasNoAnswer(response) && response.status === 429) {
      isLimited = true
      continue
    }
    const found = judge(step, asked, { response, state })
    faults.push(...found)
    if (found.length === 0) works.add(step.works)
    else works.delete(step.works)
  }
  return { client, works: [...works], faults: distinct(faults), isLimited, state }
}

function judge(
  { expects, learn, leniency }: Step,
  request: Ask,
  { response, state }: { response: Answer | NoAnswer; state: ClientState },
): Fault[] {
  const broken = brokenAnswer(request, response, leniency)
  if (broken !== undefined) return [broken]
  const answer = response as Answer
  state.request = `${request.method} ${withoutIds(request.url.pathname)}`
  const faults: Fault[] = []
  for (const check of expects) {
    const fault = check(answer, state)
    if (fault === undefined) continue
    faults.push(fault)
    // Stops after a failed first check, which is of the answer's form: the other checks rely on it.
    if (check === expects[0]) return faults
  }
  // Stores members even after a fault, since the next step may still work.
  learn?.(answer, state)
  return faults
}

/** Sends equal GET requests without a query and cookies once, and returns the same answer for all. */
function cachingAnswers(requester: Requester): Asking {
  const answers = new Map<string, Promise<Answer | NoAnswer>>()
  return (ask) => {
    if (ask.method !== 'GET' || ask.url.search !== '' || ask.headers?.['cookie'] !== undefined) {
      return requester.ask(ask)
    }
    const { 'user-agent': _, ...headers } = ask.headers ?? {}
    const key = JSON.stringify([ask.url.href, headers])
    const answer = answers.get(key) ?? requester.ask(ask)
    answers.set(key, answer)
    return answer
  }
}

/** The faults without duplicates. */
function distinct(faults: readonly Fault[]): Fault[] {
  return [...new Map(faults.map((fault) => [fault.code + fault.text, fault])).values()]
}
