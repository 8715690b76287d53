import { isSilent, type Answer, type Ask, type Line, type Silence } from './ask.ts'
import { brokenAnswer } from './checks/any-answer.ts'
import { clients, type Client } from './clients.ts'
import { withoutIds, type Fault } from './fault.ts'
import type { Known, Move } from './move.ts'
import { movesOf } from './moves.ts'
import type { Target } from './target.ts'

/** How far a client came. */
export type Journey = {
  client: Client
  works: readonly string[]
  faults: readonly Fault[]
  /** Registrations are limited for a while, so that the moves behind it were left out. */
  isLimited: boolean
  known: Known
}

/** Plays the moves of each client, one after the other: what several ask alike is asked once. */
export async function playAll(line: Line, target: Target): Promise<Journey[]> {
  const ask = remembering(line)
  const journeys: Journey[] = []
  for (const client of clients) journeys.push(await play(client, ask, target))
  return journeys
}

type Asking = (ask: Ask) => Promise<Answer | Silence>

async function play(client: Client, ask: Asking, target: Target): Promise<Journey> {
  const known: Known = { target, client, asked: '' }
  const works = new Set<string>()
  const faults: Fault[] = []
  let isLimited = false
  for (const move of movesOf(client)) {
    const asked = move.ask(known)
    if (asked === undefined) continue
    const headers = { 'user-agent': client.userAgent, ...asked.headers }
    const told = await ask({ ...asked, headers })
    if (!isSilent(told) && told.status === 429) {
      isLimited = true
      continue
    }
    const found = judge(move, asked, { told, known })
    faults.push(...found)
    if (found.length === 0) works.add(move.works)
    else works.delete(move.works)
  }
  return { client, works: [...works], faults: distinct(faults), isLimited, known }
}

function judge(
  { expects, learn, leniency }: Move,
  asked: Ask,
  { told, known }: { told: Answer | Silence; known: Known },
): Fault[] {
  const broken = brokenAnswer(asked, told, leniency)
  if (broken !== undefined) return [broken]
  const answer = told as Answer
  known.asked = `${asked.method} ${withoutIds(asked.url.pathname)}`
  const faults: Fault[] = []
  for (const check of expects) {
    const fault = check(answer, known)
    if (fault === undefined) continue
    faults.push(fault)
    // What is no answer of this kind cannot be looked at further.
    if (check === expects[0]) return faults
  }
  // What is wrong in one member need not keep a client from the next move.
  learn?.(answer, known)
  return faults
}

/** Asks what has no effect once, and gives the same answer to all who ask it. */
function remembering(line: Line): Asking {
  const told = new Map<string, Promise<Answer | Silence>>()
  return (ask) => {
    if (ask.method !== 'GET' || ask.url.search !== '' || ask.headers?.['cookie'] !== undefined) {
      return line.ask(ask)
    }
    const { 'user-agent': _, ...headers } = ask.headers ?? {}
    const key = JSON.stringify([ask.url.href, headers])
    const known = told.get(key) ?? line.ask(ask)
    told.set(key, known)
    return known
  }
}

/** Faults of one code and sentence once. */
function distinct(faults: readonly Fault[]): Fault[] {
  return [...new Map(faults.map((fault) => [fault.code + fault.text, fault])).values()]
}
