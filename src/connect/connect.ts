import { hasNoAnswer, openRequester, type Answer, type Requester, type Net } from './ask.ts'
import { brokenAnswer } from './checks/any-answer.ts'
import {
  clockFault,
  endpointMissing,
  isOfCertificate,
  otherPortFault,
  plainHttp,
  unreachable,
} from './checks/connection.ts'
import { clients } from './clients.ts'
import type { Fault } from './fault.ts'
import { addressChecks } from './address-checks.ts'
import { playClients, type ClientResult } from './play-clients.ts'
import { initialize, post } from './messages.ts'
import type { Target } from './target.ts'
import { examineWithKey } from './with-key.ts'

export type Connection = ReturnType<Report['finish']>

export type ConnectOptions = {
  target: Target
  /** An API key of the gateway; it is sent only to the target. */
  key: string | undefined
  now: () => number
  isPublic: (address: string) => boolean
  net?: Net
  /** How long an event stream is watched. */
  holdMs?: number
}

const holdDefaultMs = 20_000
const everyClient = 'all'

/** Sends the first requests of well-known clients to an address and checks the answers. Never throws. */
export async function examineConnection(options: ConnectOptions): Promise<Connection> {
  const { target, net = {} } = options
  const report = createReport(target)
  let requester = openRequester(net, { isTrusting: false })
  const refused = await requester.ask({ method: 'GET', url: target.endpoint })
  let isSafe = true
  if (hasNoAnswer(refused) && isOfCertificate(refused.errorCode)) {
    report.fault(unreachable(target, refused.errorCode))
    await requester.close()
    // Continues with the unverified server, but sends it no secret.
    requester = openRequester(net, { isTrusting: true })
    isSafe = false
  }
  try {
    await examineAll(requester, options, { report, isSafe })
  } finally {
    await requester.close()
  }
  return report.finish()
}

type Report = ReturnType<typeof createReport>

async function examineAll(
  requester: Requester,
  options: ConnectOptions,
  { report, isSafe }: { report: Report; isSafe: boolean },
): Promise<void> {
  const { target } = options
  const isReached = await checkReachable(requester, options, report)
  if (!isReached) return
  for (const check of addressChecks) {
    const fault = await check.examine(requester, target)
    if (fault === undefined) report.works('Any client', check.works)
    else report.fault(fault, ...(check.whom ?? []))
  }
  const results = await playClients(requester, target)
  for (const { client, works, faults } of results) {
    for (const one of works) report.works(client.name, one)
    for (const fault of faults) report.fault(fault, client.name)
  }
  await endRegistrations(requester, results, report)
  await useKey(requester, options, { report, isSafe })
}

/** Whether the tool server answers at the address; if not, all other checks are skipped. */
async function checkReachable(
  requester: Requester,
  { target, now, isPublic }: ConnectOptions,
  report: Report,
): Promise<boolean> {
  const ask = post(target, initialize)
  const response = await requester.ask(ask)
  if (hasNoAnswer(response)) {
    report.fault(unreachable(target, response.errorCode))
    return false
  }
  const { address } = requester.peer()
  const isOnInternet = address !== undefined && isPublic(address)
  report.works('Address', `reached${address === undefined ? '' : ` at ${address}`}`)
  if (!isOnInternet) {
    report.note(
      `${target.endpoint.host} has a private address: programs on this network can reach it, but Claude and ChatGPT, which call from the internet, cannot.`,
    )
  }
  if (isOnInternet && !target.isEncrypted) report.fault(plainHttp(target.endpoint))
  if (isOnInternet && target.isEncrypted && target.endpoint.port !== '') {
    report.fault(otherPortFault(target.endpoint), 'Claude', 'ChatGPT')
  }
  const clock = clockFault(response.headers['date'], now())
  if (clock !== undefined) report.fault(clock)
  else if (response.headers['date'] !== undefined) report.works('Address', 'the clocks agree')
  const isNotFound = response.status === 404 || response.status === 405
  const fault = isNotFound
    ? await missingEndpoint(requester, target, response)
    : brokenAnswer(ask, response)
  if (fault !== undefined) report.fault(fault)
  return fault === undefined
}

async function missingEndpoint(
  requester: Requester,
  target: Target,
  response: Answer,
): Promise<Fault | undefined> {
  if (response.status === 405) return brokenAnswer(post(target, initialize), response)
  const below = new URL(target.endpoint)
  below.pathname += '/'
  const answer = await requester.ask(post({ endpoint: below }, initialize))
  const isBelow =
    !hasNoAnswer(answer) &&
    (answer.status === 401 ||
      (hasRequestId(answer) && !hasRequestId(response) && answer.status === 404))
  return endpointMissing(target, isBelow)
}

/** Whether the gateway sent the answer: each answer of the gateway has an `x-request-id`. */
const hasRequestId = ({ headers }: Answer): boolean => headers['x-request-id'] !== undefined

/** Deletes the registrations (RFC 7592), and adds a note about those that remain. */
async function endRegistrations(
  requester: Requester,
  results: readonly ClientResult[],
  report: Report,
): Promise<void> {
  let left = 0
  for (const { state } of results) {
    if (state.clientId === undefined) continue
    const access = state.registrationAccess
    const ended =
      access &&
      (await requester.ask({
        method: 'DELETE',
        url: access.url,
        headers: { authorization: `Bearer ${access.token}` },
      }))
    if (ended === undefined || hasNoAnswer(ended) || ended.status >= 300) left += 1
  }
  if (left > 0) {
    report.note(
      `This check registered ${left} clients named '… (connection check)'. The gateway deletes them later, since they are not used.`,
    )
  }
  const limited = results.filter(({ isLimited }) => isLimited).map(({ client }) => client.name)
  if (limited.length > 0) {
    report.note(
      `Registrations are rate-limited (429): the check of ${limited.join(', ')} is incomplete. Try again in an hour.`,
    )
  }
}

async function useKey(
  requester: Requester,
  { target, key, holdMs = holdDefaultMs, isPublic }: ConnectOptions,
  { report, isSafe }: { report: Report; isSafe: boolean },
): Promise<void> {
  if (key === undefined) {
    report.note(
      'Tools and streams were not checked, since no key was given: set GATEWAY_KEY or use --key with an API key of the gateway.',
    )
    return
  }
  const isReadable = !target.isEncrypted && isPublic(requester.peer().address ?? '')
  if (!isSafe || isReadable) {
    report.note('The key was not sent, since the connection is not secure.')
    return
  }
  const found = await examineWithKey({ requester, target, key, holdMs })
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
      const entry = faults.get(key) ?? { fault, whom: new Set<string>() }
      for (const name of whom.length === 0 ? [everyClient] : whom) entry.whom.add(name)
      faults.set(key, entry)
    },
    note: (text: string) => void notes.push(text),
    finish: () => ({
      healthy: faults.size === 0,
      address: target.endpoint.href,
      works: [...works].map(([who, all]) => ({ who, works: all })),
      faults: [...faults.values()].map(({ fault, whom }) => ({ ...fault, whom: [...whom] })),
      notes,
    }),
  }
}

/** The result of a check as text for the terminal. */
export function connectionText({ address, works, faults, notes }: Connection): string {
  const names = clients.map(({ name }) => name)
  const whomText = (whom: readonly string[]) =>
    whom.includes('all') || names.every((name) => whom.includes(name))
      ? 'all clients'
      : whom.join(', ')
  const lines = [
    address,
    ...works.flatMap(({ who, works: all }) => ['', who, ...all.map((one) => `  ok  ${one}`)]),
    '',
    ...(faults.length === 0 ? ['No fault was found.'] : ['Faults that break clients:']),
    ...faults.flatMap(({ text, remedy, whom }, at) => {
      const same = faults.findIndex((one) => one.remedy === remedy)
      return [
        '',
        `${at + 1}. ${text} (${whomText(whom)})`,
        same < at ? `   The remedy is the same as for ${same + 1}.` : `   ${remedy}`,
      ]
    }),
    ...(notes.length === 0 ? [] : ['', 'Notes:', ...notes.map((note) => `  - ${note}`)]),
  ]
  return `${lines.join('\n')}\n`
}
