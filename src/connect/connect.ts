import { isSilent, openLine, type Answer, type Line, type Net } from './ask.ts'
import { brokenAnswer } from './checks/any-answer.ts'
import {
  clockOff,
  endpointMissing,
  isOfCertificate,
  otherPort,
  plainHttp,
  unreachable,
} from './checks/connection.ts'
import type { Fault } from './fault.ts'
import { grounds } from './ground.ts'
import { playAll, type Journey } from './journey.ts'
import { initialize, post } from './messages.ts'
import type { Target } from './target.ts'
import { examineWithKey } from './with-key.ts'

/** What was found; it holds no secret. */
export type Connection = {
  healthy: boolean
  address: string
  works: readonly { who: string; works: readonly string[] }[]
  faults: readonly (Fault & { whom: readonly string[] })[]
  notes: readonly string[]
}

export type Options = {
  target: Target
  /** An API key of the gateway, to be sent to the target alone. */
  key: string | undefined
  now: () => number
  /** Whether the internet leads to an address. */
  isPublic: (address: string) => boolean
  net?: Net
  /** How long a stream is watched. */
  holdMs?: number
}

const holdDefaultMs = 20_000
const everybody = 'all'

/** Plays the opening moves of well-known clients against an address. Never throws. */
export async function examineConnection(options: Options): Promise<Connection> {
  const { target, net = {} } = options
  const report = createReport(target)
  let line = openLine(net, { isTrusting: false })
  const refused = await line.ask({ method: 'GET', url: target.endpoint })
  let isSafe = true
  if (isSilent(refused) && isOfCertificate(refused.silent)) {
    report.fault(unreachable(target, refused.silent))
    await line.close()
    // The rest is told too, but nothing secret goes to somebody who may be another.
    line = openLine(net, { isTrusting: true })
    isSafe = false
  }
  try {
    await examineAll(line, options, { report, isSafe })
  } finally {
    await line.close()
  }
  return report.finish()
}

type Report = ReturnType<typeof createReport>

async function examineAll(
  line: Line,
  options: Options,
  { report, isSafe }: { report: Report; isSafe: boolean },
): Promise<void> {
  const { target } = options
  const isThere = await reach(line, options, report)
  if (!isThere) return
  for (const ground of grounds) {
    const fault = await ground.examine(line, target)
    if (fault === undefined) report.works('Any client', ground.works)
    else report.fault(fault, ...(ground.whom ?? []))
  }
  const journeys = await playAll(line, target)
  for (const { client, works, faults } of journeys) {
    for (const one of works) report.works(client.name, one)
    for (const fault of faults) report.fault(fault, client.name)
  }
  await forget(line, journeys, report)
  await useKey(line, options, { report, isSafe })
}

/** Whether the tool server is at the address at all; else nothing more is asked. */
async function reach(
  line: Line,
  { target, now, isPublic }: Options,
  report: Report,
): Promise<boolean> {
  const ask = post(target, initialize)
  const told = await line.ask(ask)
  if (isSilent(told)) {
    report.fault(unreachable(target, told.silent))
    return false
  }
  const { address } = line.peer()
  const isOutside = address !== undefined && isPublic(address)
  report.works('Address', `reached${address === undefined ? '' : ` at ${address}`}`)
  if (!isOutside) {
    report.note(
      `${target.endpoint.host} is on a private network: Claude and ChatGPT, which call from the internet, cannot reach it; programs on this network can.`,
    )
  }
  if (isOutside && !target.isEncrypted) report.fault(plainHttp(target.endpoint))
  if (isOutside && target.isEncrypted && target.endpoint.port !== '') {
    report.fault(otherPort(target.endpoint), 'Claude', 'ChatGPT')
  }
  const clock = clockOff(told.headers['date'], now())
  if (clock !== undefined) report.fault(clock)
  else if (told.headers['date'] !== undefined) report.works('Address', 'the clocks agree')
  const isNotFound = told.status === 404 || told.status === 405
  const fault = isNotFound ? await missing(line, target, told) : brokenAnswer(ask, told)
  if (fault !== undefined) report.fault(fault)
  return fault === undefined
}

async function missing(line: Line, target: Target, told: Answer): Promise<Fault | undefined> {
  if (told.status === 405) return brokenAnswer(post(target, initialize), told)
  const below = new URL(target.endpoint)
  below.pathname += '/'
  const answer = await line.ask(post({ endpoint: below }, initialize))
  const isBelow =
    !isSilent(answer) &&
    (answer.status === 401 || (named(answer) && !named(told) && answer.status === 404))
  return endpointMissing(target, isBelow)
}

/** The gateway gives each of its answers a number. */
const named = ({ headers }: Answer): boolean => headers['x-request-id'] !== undefined

/** Ends the registrations, or says that they are left. */
async function forget(line: Line, journeys: readonly Journey[], report: Report): Promise<void> {
  let left = 0
  for (const { known } of journeys) {
    if (known.clientId === undefined) continue
    const access = known.registrationAccess
    const ended =
      access &&
      (await line.ask({
        method: 'DELETE',
        url: access.url,
        headers: { authorization: `Bearer ${access.token}` },
      }))
    if (ended === undefined || isSilent(ended) || ended.status >= 300) left += 1
  }
  if (left > 0) {
    report.note(
      `${left} clients were registered for this, named '… (connection check)'. Nobody signs in with them, and the gateway sweeps them away.`,
    )
  }
  const limited = journeys.filter(({ isLimited }) => isLimited).map(({ client }) => client.name)
  if (limited.length > 0) {
    report.note(
      `Registrations are limited for now (429): ${limited.join(', ')} could not be played to the end. Try again in an hour.`,
    )
  }
}

async function useKey(
  line: Line,
  { target, key, holdMs = holdDefaultMs, isPublic }: Options,
  { report, isSafe }: { report: Report; isSafe: boolean },
): Promise<void> {
  if (key === undefined) {
    report.note(
      'Without a key neither tools nor streams were looked at: give one of the gateway in GATEWAY_KEY or with --key.',
    )
    return
  }
  const isReadable = !target.isEncrypted && isPublic(line.peer().address ?? '')
  if (!isSafe || isReadable) {
    report.note('The key was not sent, since others could read it on the way.')
    return
  }
  const found = await examineWithKey({ line, target, key, holdMs })
  for (const one of found.works) report.works('With the key', one)
  for (const fault of found.faults) report.fault(fault)
  for (const note of found.notes) report.note(note)
}

function createReport(target: Target) {
  const works = new Map<string, string[]>()
  const faults = new Map<string, { fault: Fault; whom: Set<string> }>()
  const notes: string[] = []
  return {
    works: (who: string, one: string) => void works.set(who, [...(works.get(who) ?? []), one]),
    fault: (fault: Fault, ...whom: string[]) => {
      const key = fault.code + fault.text
      const known = faults.get(key) ?? { fault, whom: new Set<string>() }
      for (const name of whom.length === 0 ? [everybody] : whom) known.whom.add(name)
      faults.set(key, known)
    },
    note: (text: string) => void notes.push(text),
    finish: (): Connection => ({
      healthy: faults.size === 0,
      address: target.endpoint.href,
      works: [...works].map(([who, all]) => ({ who, works: all })),
      faults: [...faults.values()].map(({ fault, whom }) => ({ ...fault, whom: [...whom] })),
      notes,
    }),
  }
}
