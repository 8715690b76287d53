import { DatabaseSync } from 'node:sqlite'
import { hkdfSync, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { createPictureLinks, pictureLinkKeyBytes } from '../../src/accounts/picture-links.ts'
import { until } from '../../test/support/until.ts'
import type { Answer } from '../../test/support/answers.ts'
import { allowedModel as model, type AccessKeys } from './access-keys.ts'
import type { Context, Failure, Outcome } from './attack.ts'
import { openLine } from './connection.ts'
import { createPool } from './pool.ts'
import { got, posted } from './questions.ts'
import { answerFaults } from './verdict.ts'

const concurrent = 16
const jobsPath = '/v1/images/jobs'
/** Requests for one picture at the same time, half of them with changed links. */
const atOnce = { full: 2000, quick: 200 }

type Job = { id: string; status: string; result: { data: { url: string; bytes: number }[] } | null }
type Try = { request: Buffer; statuses: readonly number[]; bytesMax?: number }
type Ask = (request: Buffer) => Promise<Answer>

/** Ids of jobs and signed links of pictures must not lead to what another account has, or what was not signed. */
export async function imageJobs(context: Context, keys: AccessKeys): Promise<Outcome> {
  const { target, dose } = context
  const lines = Array.from({ length: concurrent }, () => openLine(target.url))
  const pool = createPool(lines)
  const failures: Failure[] = []
  const ask: Ask = async (request) => {
    const found = Promise.withResolvers<Answer>()
    await pool.run(async (line) => {
      const { answers, end } = await line.ask(request, { answersMax: 1 })
      if (answers[0] === undefined) found.reject(new Error(`No answer (${end}).`))
      else found.resolve(answers[0])
    })
    return found.promise
  }
  const job = await completedJob(target.liveKey, ask)
  const { url, bytes } = job.result!.data[0]!
  const link = new URL(url)
  const whole: Try = { request: got(pathOf(link)), statuses: [200] }
  const tries = [
    whole,
    ...ownedTries(job, { owner: target.liveKey, ...keys }),
    ...changedLinks(link, dose).map((one) => linkTry(one, [404, 400])),
    linkTry(pathOf(expiredLink(link, target.dataDir)), [404]),
    ...ranges(bytes).map(([range, statuses]) => ({
      request: got(pathOf(link), { range }),
      statuses,
      bytesMax: bytes,
    })),
    ...Array.from({ length: atOnce[dose] }, (_, index) =>
      index % 2 === 0 ? whole : linkTry(pathOf(flipped(link, index % 43)), [404]),
    ),
  ]
  await Promise.all(
    tries.map(async (one) => failures.push(...faultsIn(one, await ask(one.request)))),
  )
  const removing = got(`${jobsPath}/${job.id}`, { authorization: `Bearer ${target.liveKey}` })
  await ask(Buffer.from(removing.toString('latin1').replace('GET', 'DELETE'), 'latin1'))
  const deleted = linkTry(pathOf(link), [404])
  failures.push(...faultsIn(deleted, await ask(deleted.request)))
  lines.forEach((line) => line.close())
  return { tried: tries.length + 1, failures }
}

async function completedJob(key: string, ask: Ask): Promise<Job> {
  const body = { model, prompt: randomUUID() }
  const headers = [['prefer', 'respond-async']] as const
  const begun = await ask(posted('/v1/images/generations', key, { headers, body }))
  if (begun.status !== 202) throw new Error(`No job: ${begun.status} ${begun.text}`)
  let job = JSON.parse(begun.text) as Job
  await until('the job has ended', async () => {
    const request = got(`${jobsPath}/${job.id}`, { authorization: `Bearer ${key}` })
    job = JSON.parse((await ask(request)).text) as Job
    return job.result !== null
  })
  return job
}

/** Each way to a job, with keys that must not find it, and by ids that are nearly its own. */
function ownedTries(
  { id }: Job,
  keys: Pick<AccessKeys, 'limited' | 'stranger'> & { owner: string },
) {
  const { owner, limited, stranger } = keys
  const by = (key: string, of: string): Buffer[] => [
    ...['', '?include=b64_json', '/events'].map((more) =>
      got(`${jobsPath}/${of}${more}`, { authorization: `Bearer ${key}` }),
    ),
    posted(`${jobsPath}/${of}/cancel`, key),
  ]
  const digits = id.slice('imgjob_'.length)
  const near = [
    ...Array.from(digits, (digit, at) => digits.slice(0, at) + other(digit) + digits.slice(at + 1)),
    digits.toUpperCase(),
    `${digits}0`,
    digits.slice(1),
    `${digits}%00`,
    `${digits}'--`,
    `${digits}%2F..%2F${digits}`,
    digits.repeat(200),
  ].map((text) => `imgjob_${text}`)
  return [
    ...[limited, stranger].flatMap((key) => by(key, id)),
    ...near.flatMap((of) => by(owner, of)),
  ].map((request): Try => ({ request, statuses: [404] }))
}

function other(digit: string): string {
  return ((Number.parseInt(digit, 16) + 1) % 16).toString(16)
}

function linkTry(path: string, statuses: readonly number[]): Try {
  return { request: got(path), statuses }
}

const pathOf = ({ pathname, search }: URL) => pathname + search
const base64url = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

/** The link with one bit of a character of its signature changed. */
function flipped(link: URL, at: number, bit = 0): URL {
  const signature = link.searchParams.get('signature')!
  const value = base64url.indexOf(signature[at]!) ^ (1 << bit)
  return changed(
    link,
    'signature',
    signature.slice(0, at) + base64url[value] + signature.slice(at + 1),
  )
}

function changed(link: URL, name: string, value: string): URL {
  const copy = new URL(link)
  copy.searchParams.set(name, value)
  return copy
}

function changedLinks(link: URL, dose: Context['dose']): string[] {
  const bits = dose === 'full' ? [0, 1, 2, 3, 4, 5] : [0]
  const { pathname, search, searchParams } = link
  const [account, expires, signature] = ['account', 'expires', 'signature'].map((name) =>
    searchParams.get(name)!,
  ) as [string, string, string]
  const changes: [string, string][] = [
    ['account', `acc_${randomUUID()}`],
    ['account', account.toUpperCase()],
    ['account', `${account}","`],
    ['account', ''],
    ['expires', String(Number(expires) + 1)],
    ['expires', `0${expires}`],
    ['expires', `${expires}.0`],
    ['expires', '1e99'],
    ['expires', '-1'],
    ['signature', ''],
    ['signature', `${signature}=`],
    ['signature', `${signature}A`],
    ['signature', signature.slice(0, -1)],
    ['signature', '\u{1f98a}'.repeat(43)],
    ['signature', 'A'.repeat(10_000)],
  ]
  const digits = /[0-9a-f]{32}/.exec(pathname)![0]
  return [
    ...Array.from(signature).flatMap((_, at) => bits.map((bit) => pathOf(flipped(link, at, bit)))),
    ...changes.map(([name, value]) => pathOf(changed(link, name, value))),
    ...Array.from(digits, (digit, at) => {
      const near = digits.slice(0, at) + other(digit) + digits.slice(at + 1)
      return pathname.replace(digits, near) + search
    }),
    pathname,
    `${pathname}${search}&signature=${flipped(link, 0).searchParams.get('signature')}`,
    `${pathname}/..%2F${pathname.split('/').at(-1)}${search}`,
  ]
}

/** A link that the gateway itself would have signed, and that has expired. */
function expiredLink(link: URL, dataDir: string): URL {
  const db = new DatabaseSync(join(dataDir, 'gateway.db'), { readOnly: true })
  const { secret } = db.prepare('select secret from gateway_secrets').get() as {
    secret: Uint8Array
  }
  db.close()
  const key = Buffer.from(hkdfSync('sha256', secret, '', 'picture links', pictureLinkKeyBytes))
  const clock = () => Date.now() - 3_601_000
  const { linkTo } = createPictureLinks({ key, baseUrl: link.origin, clock })
  const file = { id: link.pathname.split('/').at(-1)!, expiresAtMs: Date.now() + 1e9 }
  return new URL(linkTo({ accountId: link.searchParams.get('account')! }, file))
}

/** Ranges within, at and beyond the end of a picture; a malformed range may be ignored. */
function ranges(bytes: number): [string, readonly number[]][] {
  return [
    ['bytes=0-', [206]],
    [`bytes=${bytes - 1}-`, [206]],
    [`bytes=${bytes}-`, [416]],
    [`bytes=0-${bytes * 2}`, [206]],
    [`bytes=-${bytes * 2}`, [206]],
    ['bytes=-0', [416]],
    ['bytes=5-2', [200]],
    ['bytes=-', [200]],
    ['bytes=999999999999999-', [416]],
    [`bytes=${'9'.repeat(400)}-`, [200, 416]],
    [`bytes=${'0-1,'.repeat(1000)}0-1`, [200, 206]],
    ['bytes=0x1-2', [200]],
    ['lines=1-2', [200]],
  ]
}

function faultsIn({ request, statuses, bytesMax }: Try, answer: Answer): Failure[] {
  const { status, headers } = answer
  const length = Number(headers.get('content-length') ?? 0)
  const what = [
    ...(statuses.includes(status)
      ? []
      : [`The status is ${status}, not ${statuses.join(' or ')}.`]),
    ...(bytesMax !== undefined && status < 300 && length > bytesMax
      ? [`The answer has ${length} of ${bytesMax} bytes.`]
      : []),
    ...(status < 400 ? [] : answerFaults(answer, { operation: undefined, path: '', secrets: [] })),
  ]
  return what.map((one) => ({ what: one, request }))
}
