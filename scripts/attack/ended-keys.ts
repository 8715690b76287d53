import { setTimeout as sleep } from 'node:timers/promises'
import { openConnection } from '../../test/support/raw-connection.ts'
import { revoke, type AccessKeys } from './access-keys.ts'
import type { Context, Failure, Outcome } from './attack.ts'
import { askOnce } from './connection.ts'
import { asked, got, posted } from './questions.ts'

/** By the settings, open requests end within a second. The remaining time allows for a busy machine. */
const endsWithinMs = 4000

/** Running requests of a revoked or expired key must end, and new requests must be refused. */
export async function endedKeys(
  { target }: Context,
  { doomed, expiring }: AccessKeys,
): Promise<Outcome> {
  const [revoked, expired] = [openWith(target.url, doomed.key), openWith(target.url, expiring.key)]
  const [first, second] = await Promise.all([revoked, expired])
  const faults = async (open: Open[], what: string, fromMs: number) => {
    await Promise.race([
      Promise.all(open.map(({ closed }) => closed)),
      sleep(fromMs + endsWithinMs - performance.now()),
    ])
    return open.flatMap(({ name, request, end }) =>
      end() ? [] : [{ what: `${name} stays open although its key ${what}.`, request }],
    )
  }
  const good = performance.now() < expiring.endsFromMs ? [...first, ...second] : first
  const early = good.flatMap(({ name, request, end }) =>
    end() ? [{ what: `${name} ended while its key was valid.`, request }] : [],
  )
  await revoke(target, doomed.name)
  const found = await Promise.all([
    faults(first, 'was revoked', performance.now()),
    faults(second, 'has expired', expiring.endsByMs),
  ])
  const open = [...first, ...second]
  for (const { leave } of open) leave()
  const again = await Promise.all(
    [doomed.key, expiring.key].flatMap((key) => longRequests(key).map(refusalFaults(target.url))),
  )
  return {
    tried: open.length + again.length,
    failures: [...early, ...found.flat(), ...again.flat()],
  }
}

const events = { accept: 'text/event-stream' }
const call = (model: string) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: {
    name: 'chat',
    arguments: { model: `own/${model}`, messages: [{ role: 'user', content: 'Hi' }] },
    _meta: { progressToken: 1 },
  },
})

/** Requests that stay open until their key ends. */
function longRequests(key: string): { name: string; request: Buffer }[] {
  const authorization = `Bearer ${key}`
  const accept = [['accept', 'application/json, text/event-stream']] as const
  return [
    { name: 'An event stream', request: got('/mcp', { authorization, ...events }) },
    { name: 'A stream', request: asked('silent-stream', key, { stream: true }) },
    { name: 'A chat', request: asked('silent', key) },
    { name: 'A tool', request: posted('/mcp', key, { headers: accept, body: call('silent') }) },
  ]
}

type Open = {
  name: string
  request: Buffer
  /** Whether the answer is complete, or the connection closed. */
  end(): boolean
  closed: Promise<void>
  leave(): void
}

const settleMs = 300

async function openWith(url: string, key: string): Promise<Open[]> {
  const open = await Promise.all(
    longRequests(key).map(async ({ name, request }): Promise<Open> => {
      const socket = await openConnection(url)
      const { promise: closed, resolve } = Promise.withResolvers<void>()
      let [text, isOver] = ['', false]
      const over = () => {
        isOver = true
        resolve()
      }
      socket.once('close', over).on('data', (piece: Buffer) => {
        text += piece.toString('latin1')
        if (isWhole(text)) over()
      })
      socket.write(request)
      return { name, request, end: () => isOver, closed, leave: () => socket.destroy() }
    }),
  )
  await sleep(settleMs)
  return open
}

/** Whether an answer has its last chunk, or all bytes of its content-length. */
function isWhole(text: string): boolean {
  const [head = '', ...rest] = text.split('\r\n\r\n')
  const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1]
  if (length !== undefined) return rest.join('\r\n\r\n').length >= Number(length)
  return text.endsWith('0\r\n\r\n')
}

const refusalFaults =
  (url: string) =>
  async ({ name, request }: { name: string; request: Buffer }): Promise<Failure[]> => {
    const { answers } = await askOnce(url, request, { answersMax: 1 })
    const status = answers[0]?.status
    if (status === 401) return []
    return [{ what: `${name} is accepted with a key that ended (${status}).`, request }]
  }
