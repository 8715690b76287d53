import { randomUUID } from 'node:crypto'
import type { Answer } from '../../test/support/answers.ts'
import { openConnection } from '../../test/support/raw-connection.ts'
import { until } from '../../test/support/until.ts'
import type { AccessKeys } from './access-keys.ts'
import type { Context, Failure, Outcome } from './attack.ts'
import { askOnce } from './connection.ts'
import { chatPath, got, posted } from './questions.ts'

const timeoutMs = 10_000

type Ask = (request: Buffer) => Promise<Answer>
type Case = { owner: string; limited: string; stranger: string; url: string; ask: Ask }

/** What one account asked, is told and may cancel is nothing to another. */
export async function strangersThings(
  { target: { url, liveKey: owner } }: Context,
  { limited, stranger }: AccessKeys,
): Promise<Outcome> {
  const ask: Ask = async (request) => {
    const { answers, end } = await askOnce(url, request, { answersMax: 1, timeoutMs })
    if (answers[0] === undefined) throw new Error(`There is no answer (${end}).`)
    return answers[0]
  }
  const given = { owner, limited, stranger, url, ask }
  const found = await Promise.all([
    ...questions().map((write) => remembered(given, write)),
    ...questions().map((write) => joined(given, write)),
    listened(given),
    cancelled(given),
    named(given),
  ])
  return { tried: found.length, failures: found.flat() }
}

type Write = (key: string, headers?: readonly (readonly [string, string])[]) => Buffer

/** Questions of each face, to models that answer each time with something else. */
function questions(): Write[] {
  const messages = [{ role: 'user', content: randomUUID() }]
  const remember = ['cache-control', 'max-age=60'] as const
  const chat = { model: 'own/unique', messages }
  const call = { name: 'chat', arguments: chat }
  return [
    (key, more = []) => posted(chatPath, key, { headers: [remember, ...more], body: chat }),
    (key, more = []) =>
      posted('/mcp', key, {
        headers: [remember, ...accept, ...more],
        body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: call },
      }),
    (key, more = []) =>
      posted('/v1/images/generations', key, {
        headers: [remember, ...more],
        body: { model: 'own/unique', prompt: messages[0]!.content },
      }),
  ]
}

const accept = [['accept', 'application/json, text/event-stream']] as const

/** What was made for this answer alone, wherever it stands. */
function madeIn({ text }: Answer): string | undefined {
  return /made-([0-9a-f-]{36})/.exec(text)?.[1]
}

async function remembered({ owner, stranger, ask }: Case, write: Write): Promise<Failure[]> {
  const first = await ask(write(owner))
  const again = await ask(write(owner))
  const stolen = await ask(write(stranger))
  return [...controlFaults(first, again, write(owner)), ...theft(first, stolen, write(stranger))]
}

async function joined({ owner, stranger, ask }: Case, write: Write): Promise<Failure[]> {
  const [first, again, stolen] = await Promise.all(
    [owner, owner, stranger].map((key) => ask(write(key))),
  )
  return [
    ...controlFaults(first!, again!, write(owner)),
    ...theft(first!, stolen!, write(stranger)),
  ]
}

/** Without an answer that the owner shares with itself nothing is seen here. */
function controlFaults(first: Answer, again: Answer, request: Buffer): Failure[] {
  const isShared = first.status === 200 && madeIn(first) === madeIn(again)
  return isShared ? [] : [{ what: 'The owner does not share an answer with itself.', request }]
}

function theft(first: Answer, stolen: Answer, request: Buffer): Failure[] {
  if (stolen.status !== 200) return [{ what: `A stranger is told ${stolen.status}.`, request }]
  const isOwn = madeIn(stolen) !== madeIn(first) && stolen.headers.get('x-gateway-cache') !== 'hit'
  return isOwn ? [] : [{ what: 'A stranger is given the answer of another account.', request }]
}

/** What generating tools tell the event streams of an account. */
async function listened({ owner, stranger, url, ask }: Case): Promise<Failure[]> {
  const level = { jsonrpc: '2.0', id: 1, method: 'logging/setLevel', params: { level: 'debug' } }
  await Promise.all(
    [owner, stranger].map((key) => ask(posted('/mcp', key, { headers: accept, body: level }))),
  )
  const listen = (key: string, more: Record<string, string> = {}) =>
    listener(
      url,
      got('/mcp', { authorization: `Bearer ${key}`, accept: 'text/event-stream', ...more }),
    )
  const own = await listen(owner)
  const strange = await Promise.all([listen(stranger), listen(stranger, { 'last-event-id': '0' })])
  const stolen = await stolenSessions({ owner, stranger, ask })
  await until('streams are open', () =>
    [own, ...strange].every(({ text }) => text().includes('open')),
  )
  const picture = {
    name: 'generate-image',
    arguments: { model: 'own/unique', prompt: randomUUID() },
  }
  const params = { ...picture, _meta: { progressToken: 'mine' } }
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params }
  const request = posted('/mcp', owner, { headers: accept, body })
  await ask(request)
  await until('the owner is told', () => own.text().includes('generate-image')).catch(
    () => undefined,
  )
  const isTold = own.text().includes('generate-image')
  // It calls other tools itself meanwhile.
  const overheard = strange.filter(({ text }) => text().includes('generate-image'))
  for (const { leave } of [own, ...strange]) leave()
  return [
    ...stolen,
    ...(isTold ? [] : [{ what: 'The owner is told nothing of its call.', request }]),
    ...overheard.map((one) => ({ what: 'A stranger is told of a call.', request: one.request })),
  ]
}

/** A session that another account was given, or nobody, is none. */
async function stolenSessions({
  owner,
  stranger,
  ask,
}: Pick<Case, 'owner' | 'stranger' | 'ask'>): Promise<Failure[]> {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: client }
  const body = { jsonrpc: '2.0', id: 1, method: 'initialize', params }
  const begun = await ask(posted('/mcp', owner, { headers: accept, body }))
  const given = begun.headers.get('mcp-session-id') ?? ''
  const refused = await Promise.all(
    [given, randomUUID()].map(async (id) => {
      const request = got('/mcp', {
        authorization: `Bearer ${stranger}`,
        accept: 'text/event-stream',
        'mcp-session-id': id,
      })
      const { status } = await ask(request)
      return status === 404
        ? []
        : [{ what: `A stranger's session is answered ${status}.`, request }]
    }),
  )
  return [
    ...(given === '' ? [{ what: 'The owner is given no session.', request: '' }] : []),
    ...refused.flat(),
  ]
}

const client = { name: 'attack', version: '1' }

async function listener(url: string, request: Buffer) {
  const socket = await openConnection(url)
  let text = ''
  socket.on('data', (piece: Buffer) => (text += piece.toString('latin1')))
  socket.write(request)
  return { request, text: () => text, leave: () => void socket.destroy() }
}

/** Whoever has another key cancels nothing, also with the id of the call. */
async function cancelled({ owner, limited, stranger, url, ask }: Case): Promise<Failure[]> {
  const messages = [{ role: 'user', content: randomUUID() }]
  const given = { name: 'chat', arguments: { model: 'own/unique', messages } }
  const id = `call-${randomUUID()}`
  const params = { ...given, _meta: { progressToken: id } }
  const call = { jsonrpc: '2.0', id, method: 'tools/call', params }
  const answer = await listener(url, posted('/mcp', owner, { headers: accept, body: call }))
  await until('the call has begun', () => answer.text().includes('notifications/progress'))
  const requests = [limited, stranger].map((key) => {
    const method = 'notifications/cancelled'
    const body = { jsonrpc: '2.0', method, params: { requestId: id } }
    return posted('/mcp', key, { headers: accept, body })
  })
  await Promise.all(requests.map(ask))
  await until('the call is over', () => answer.text().includes('\r\n0\r\n\r\n'))
  answer.leave()
  if (answer.text().includes('"result"')) return []
  return [{ what: 'A call is cancelled with another key.', request: requests[0]! }]
}

/** Names that a caller gives a call lead to no other. */
async function named({ owner, stranger, ask }: Case): Promise<Failure[]> {
  const [write] = questions() as [Write]
  const first = await ask(write(owner))
  const id = first.headers.get('x-request-id') ?? ''
  const headers = ['x-request-id', 'idempotency-key', 'mcp-session-id'].map(
    (name) => [name, id] as const,
  )
  const request = write(stranger, headers)
  const stolen = await ask(request)
  const isTaken = stolen.headers.get('x-request-id') === id
  return [
    ...theft(first, stolen, request),
    ...(isTaken ? [{ what: 'A call takes the id of another.', request }] : []),
  ]
}
