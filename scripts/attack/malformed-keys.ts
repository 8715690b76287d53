import { operations } from '../../test/support/contract.ts'
import { chanceFrom } from '../../test/support/chance.ts'
import type { AccessKeys } from './access-keys.ts'
import type { Context, Failure, Outcome } from './attack.ts'
import { openLine } from './connection.ts'
import { bytesOf, type HttpRequest } from './http-request.ts'
import { createPool } from './pool.ts'
import { answerFaults } from './verdict.ts'

const concurrent = 8

type Given = { headers?: HttpRequest['headers']; query?: string; status?: number }

/** Operations that need a key must refuse requests without a valid key. */
export async function malformedKeys(
  { target, seed }: Context,
  { limited }: AccessKeys,
): Promise<Outcome> {
  const { testKey, liveKey } = target
  const secrets = [testKey, liveKey, limited]
  // The contract sets `security` on operations that do not use keys.
  const guarded = operations.filter(({ security }) => security === undefined)
  const requests = guarded.flatMap((operation) =>
    withoutAKey({ testKey, liveKey }, seed).map(({ headers = [], query = '', status = 401 }) => ({
      operation,
      status,
      method: operation.method.toUpperCase(),
      path: operation.path.replace('{model}', 'gpt-5-mini') + query,
      headers: [['content-type', 'application/json'] as const, ...headers],
      body: Buffer.from(operation.requestBody === undefined ? '' : '{}'),
    })),
  )
  const lines = Array.from({ length: concurrent }, () => openLine(target.url))
  const pool = createPool(lines)
  const failures: Failure[] = []
  for (const asked of requests) {
    const request = bytesOf(asked)
    await pool.run(async (line) => {
      const { answers, end } = await line.ask(request, { answersMax: 1 })
      const [answer] = answers
      if (answer === undefined) return void failures.push({ what: `No answer (${end}).`, request })
      const { operation, path, status } = asked
      const faults = answerFaults(answer, { operation, path, secrets })
      if (answer.status !== status) faults.push(`The status is ${answer.status}, not ${status}.`)
      if (faults.length > 0) failures.push({ what: faults.join(' '), request })
    })
  }
  await pool.idle()
  lines.forEach((line) => line.close())
  return { tried: requests.length, failures }
}

const queryNames = ['key', 'api_key', 'api-key', 'apikey', 'access_token', 'token', 'authorization']
const otherHeaders = ['api-key', 'x-goog-api-key', 'proxy-authorization', 'x-auth-token']
const schemes = ['Basic', 'Digest', 'Token', 'ApiKey', 'Bearer:', 'Bearer=', 'Bearer Bearer', 'JWT']

/** Requests without a key, with an invalid key, or with a key in the wrong place. */
function withoutAKey({ testKey, liveKey }: { testKey: string; liveKey: string }, seed: number) {
  const wrong = almostKeys(testKey, liveKey, seed)
  const bearer = (text: string): Given => ({ headers: [['authorization', `Bearer ${text}`]] })
  const apiKey = (text: string): Given => ({ headers: [['x-api-key', text]] })
  const basic = Buffer.from(`${liveKey}:`).toString('base64')
  return [
    {},
    ...['', 'Bearer', 'Bearer ', liveKey, `bearer${liveKey}`, `Basic ${basic}`].map(
      (text): Given => ({ headers: [['authorization', text]] }),
    ),
    ...schemes.map((scheme): Given => ({ headers: [['authorization', `${scheme} ${liveKey}`]] })),
    ...wrong.flatMap((text) => [bearer(text), apiKey(text)]),
    { headers: ['', wrong[0]!].map((text) => ['x-api-key', text] as const) },
    // A request with two different keys is ambiguous and must be refused with 400.
    ...[wrong.slice(0, 2), [wrong[0]!, liveKey], [liveKey, wrong[0]!]].map((texts): Given => ({
      headers: texts.map((text) => ['authorization', `Bearer ${text}`] as const),
      status: 400,
    })),
    { headers: [...bearer(liveKey).headers!, ...apiKey(wrong[0]!).headers!], status: 400 },
    { headers: [['x-api-key', `${liveKey}, ${liveKey}`]] },
    { headers: [['cookie', `authorization=Bearer ${liveKey}; x-api-key=${liveKey}`]] },
    ...otherHeaders.map((name): Given => ({ headers: [[name, liveKey]] })),
    ...queryNames.map((name): Given => ({ query: `?${name}=${liveKey}` })),
  ] satisfies Given[]
}

/** Texts that look like a key of the gateway but are not valid. */
function almostKeys(testKey: string, liveKey: string, seed: number): string[] {
  const chance = chanceFrom(seed)
  const at = 'mag_live_'.length + chance.below(liveKey.length - 'mag_live_'.length)
  const other = liveKey[at] === 'a' ? 'b' : 'a'
  return [
    liveKey.slice(0, at) + other + liveKey.slice(at + 1),
    testKey.replace('mag_test_', 'mag_live_'),
    liveKey.replace('mag_live_', 'mag_test_'),
    liveKey.slice(0, -1),
    `${liveKey}A`,
    liveKey.slice(1),
    liveKey.toUpperCase(),
    `"${liveKey}"`,
    `${liveKey},${liveKey}`,
    `${liveKey}%00`,
    encodeURIComponent(liveKey).replaceAll('_', '%5F'),
    'x'.repeat(10_000),
    `mag_live_${'A'.repeat(10_000)}`,
    "' OR 1=1 --",
    'mag_live_%',
    '__proto__',
    'null',
    'undefined',
    '${API_KEY}',
  ]
}
