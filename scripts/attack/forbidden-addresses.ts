import { createServer, type AddressInfo } from 'node:net'
import { once } from 'node:events'
import type { Attack, Context, Failure, Outcome } from './attack.ts'
import { askOnce } from './connection.ts'
import { chatPath, posted } from './questions.ts'

/** Requests with images at private addresses. The gateway must not fetch these images, and answer 400. */
export const forbiddenAddresses: Attack = { name: 'forbidden-addresses', run }

async function run({ target }: Context): Promise<Outcome> {
  let visits = 0
  const canary = createServer((socket) => {
    visits++
    socket.destroy()
  }).listen(0, '127.0.0.1')
  await once(canary, 'listening')
  const { port } = canary.address() as AddressInfo
  const requests = addresses(port).flatMap((url) => [
    posted('/v1/images/edits', target.liveKey, {
      body: { model: 'own/house-1', prompt: 'A fox', images: [{ image_url: url }] },
    }),
    // A provider that fetches images itself must not receive private addresses either.
    ...['own/house-1', 'fetching/house-1'].map((model) =>
      posted(chatPath, target.liveKey, { body: { model, messages: pictured(url) } }),
    ),
  ])
  const failures: Failure[] = []
  for (const request of requests) {
    const before = visits
    const { answers } = await askOnce(target.url, request, { answersMax: 1 })
    const status = answers[0]?.status
    if (visits > before)
      failures.push({ what: 'The gateway connected to a private address.', request })
    if (status !== 400) failures.push({ what: `The status is ${status}, not 400.`, request })
  }
  canary.close()
  return { tried: requests.length, failures }
}

function pictured(url: string): object[] {
  return [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }]
}

/** Ways to write an address of this machine or of its network. */
function addresses(port: number): string[] {
  const hosts = [
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f000001',
    '017700000001',
    '0.0.0.0',
    'localhost',
    'localhost.',
    '[::1]',
    '[::]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[64:ff9b::7f00:1]',
    '169.254.169.254',
    '10.0.0.1',
    'user:password@127.0.0.1',
    '127.0.0.1\u3002',
    '①②⑦.0.0.1',
  ]
  return [
    ...hosts.flatMap((host) => [`https://${host}:${port}/a.png`, `http://${host}:${port}/a.png`]),
    'file:///etc/passwd',
    'ftp://127.0.0.1/a.png',
    `gopher://127.0.0.1:${port}/_x`,
  ]
}
