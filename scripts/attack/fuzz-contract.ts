import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { kindOf, type Attack, type Context, type Failure, type Outcome } from './attack.ts'
import { createAccount, createKey } from './administration.ts'
import { openLine, type Line } from './connection.ts'
import { contractRequests, type Keys } from './contract-requests.ts'
import { bytesOf, type HttpRequest } from './http-request.ts'
import { createPool } from './pool.ts'
import { answerFaults, logFaults } from './verdict.ts'

const requests = { full: 30_000, quick: 400 }
/** The number of keys that requests may change and revoke. */
const keysMade = { full: 60, quick: 6 }
const concurrent = 24
/** Time limit of the search for a smaller request that fails in the same way. */
const shrinkMs = 5000

/** Sends mutated requests of every operation: each answer must comply with the contract. */
export const fuzzContract: Attack = { name: 'contract', isDrawn: true, run }

async function run({ target, seed, dose }: Context): Promise<Outcome> {
  const logBefore = target.log().length
  const administrator = await openAccount(target, keysMade[dose])
  const keys: Keys = { ...target, administrator, person: await signIn(target) }
  const arbitrary = contractRequests(keys)
  const secrets = [target.testKey, target.liveKey, target.operatorKey, keys.administrator.key]
  const lines = Array.from({ length: concurrent }, () => openLine(target.url))
  const pool = createPool(lines)
  const failures: (Failure & { index: number })[] = []
  const statuses = new Map<number, number>()
  let tried = 0
  const property = fc.asyncProperty(arbitrary, async (request) => {
    const index = tried++
    await pool.run(async (line) => {
      const { what, status } = await attempt(line, request, secrets)
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
      if (what !== undefined) failures.push({ what, request: bytesOf(request), index })
    })
  })
  await fc.check(property, { seed, numRuns: requests[dose] })
  await pool.idle()
  const shown = await Promise.all(
    firstOfEachKind(failures).map(async (failure) => ({
      ...failure,
      request: await smallest(failure, { seed, arbitrary, line: openLine(target.url), secrets }),
    })),
  )
  lines.forEach((line) => line.close())
  const rest = failures.filter((failure) => !shown.some(({ index }) => index === failure.index))
  const logged = logFaults(target.log().slice(logBefore))
  return tallied(
    tried,
    [...shown, ...rest, ...logged.map((what) => ({ what, request: '' }))],
    statuses,
  )
}

async function openAccount(
  target: Context['target'],
  keys: number,
): Promise<Keys['administrator']> {
  const accountId = await createAccount(target, { name: 'fuzzed' })
  const { key } = await createKey(target, accountId, { scopes: ['admin'] })
  const made = Array.from({ length: keys }, () => createKey(target, accountId))
  const { key: caller } = await createKey(target, accountId)
  const authorization = `Bearer ${caller}`
  const chat = { model: 'gpt-5-mini', messages: [{ role: 'user', content: 'Hi' }] }
  const answer = await post(`${target.url}/v1/chat/completions`, { authorization }, chat)
  const requestIds = [answer.headers.get('x-request-id')!]
  return { key, accountId, requestIds, keyIds: (await Promise.all(made)).map(({ id }) => id) }
}

/** Signs in the owner of the first account, by a setup link. */
async function signIn({ url, command }: Context['target']): Promise<Keys['person']> {
  const { token } = JSON.parse(await command('setup-link', '--json')) as { token: string }
  const owner = { name: 'Owner', email: `${randomUUID()}@example.com` }
  const asked = { ...owner, token, password: randomUUID() }
  const answer = await post(`${url}/api/setup`, {}, asked)
  const { csrf_token: csrf } = (await answer.json()) as { csrf_token: string }
  const [cookie = ''] = answer.headers.get('set-cookie')?.split(';') ?? []
  return [
    ['cookie', cookie],
    ['x-csrf-token', csrf],
  ]
}

async function post(url: string, headers: Record<string, string>, body: object) {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (answer.status < 300) return answer
  throw new Error(`${url} answers ${answer.status}: ${await answer.text()}`)
}

function tallied(tried: number, failures: Failure[], statuses: ReadonlyMap<number, number>) {
  const sorted = [...statuses].sort(([one], [other]) => one - other)
  const figures = { answers: sorted.map(([status, count]) => `${status}: ${count}`).join(', ') }
  return { tried, failures, figures }
}

/** Sends a request; returns what is wrong with its answer. */
async function attempt(
  line: Line,
  request: HttpRequest,
  secrets: readonly string[],
): Promise<{ what: string | undefined; status: number }> {
  const { operation, method, path } = request
  const asked = { isHead: () => method === 'HEAD', answersMax: 1 }
  try {
    const { answers, end } = await line.ask(bytesOf(request), asked)
    const [answer] = answers
    if (answer === undefined) return { what: `No answer (${end}).`, status: 0 }
    const isEmpty = method === 'HEAD'
    const named = answer.status >= 400 && isEmpty ? undefined : operation
    const faults = answerFaults(answer, { operation: named, path, secrets })
    const what =
      faults.length === 0
        ? undefined
        : `${answer.status}: ${faults.join(' ')} ${answer.text.slice(0, 300)}`
    return { what, status: answer.status }
  } catch (error) {
    return { what: error instanceof Error ? error.message : String(error), status: 0 }
  }
}

function firstOfEachKind<One extends Failure>(failures: readonly One[]): One[] {
  return [...Map.groupBy(failures, kindOf).values()].map(([first]) => first!).slice(0, 10)
}

type Shrinking = {
  seed: number
  arbitrary: fc.Arbitrary<HttpRequest>
  line: Line
  secrets: readonly string[]
}

/** Shrinks a failing request; returns the smallest request that fails in the same way. */
async function smallest(
  failure: Failure & { index: number },
  { seed, arbitrary, line, secrets }: Shrinking,
): Promise<string | Buffer> {
  let found = failure.request
  const property = fc.asyncProperty(arbitrary, async (request) => {
    const { what } = await attempt(line, request, secrets)
    if (what === undefined || kindOf({ what, request: '' }) !== kindOf(failure)) return
    found = bytesOf(request)
    throw new Error(what)
  })
  const path = String(failure.index)
  await fc.check(property, { seed, path, numRuns: 1, interruptAfterTimeLimit: shrinkMs })
  line.close()
  return found
}
