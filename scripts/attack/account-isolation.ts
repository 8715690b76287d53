import { randomUUID } from 'node:crypto'
import type { Answer } from '../../test/support/answers.ts'
import { openConnection } from '../../test/support/raw-connection.ts'
import { until } from '../../test/support/until.ts'
import { allowedModel as model, type AccessKeys } from './access-keys.ts'
import type { Context, Failure, Outcome } from './attack.ts'
import { askOnce } from './connection.ts'
import { chatPath, got, posted } from './questions.ts'

type Ask = (request: Buffer) => Promise<Answer>
type Case = { owner: string; limited: string; stranger: string; url: string; ask: Ask }

/** An account must not get the answers, events or sessions of another account, nor cancel its calls. */
export async function accountIsolation(
  { target: { url, liveKey: owner } }: Context,
  { limited, stranger }: AccessKeys,
): Promise<Outcome> {
  const ask: Ask = async (request) => {
    const { answers, end } = await askOnce(url, request, { answersMax: 1 })
    if (answers[0] === undefined) throw new Error(`No answer (${end}).`)
    return answers[0]
  }
  const given = { owner, limited, stranger, url, ask }
  const found = await Promise.all([
    ...questions().map((write) => cacheFaults(given, write)),
    ...questions().map((write) => sharingFaults(given, write)),
    streamFaults(given),
    cancellationFaults(given),
    idFaults(given),
    storedFaults(given),
  ])
  return { tried: found.length, failures: found.flat() }
}

type Write = (key: string, headers?: readonly (readonly [string, string])[]) => Buffer

/** Requests of each API, to a model whose answers are all different. */
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

/** The unique id in an answer. */
function madeIn({ text }: Pick<Answer, 'text'>): string | undefined {
  return /made-([0-9a-f-]{36})/.exec(text)?.[1]
}

async function cacheFaults({ owner, stranger, ask }: Case, write: Write): Promise<Failure[]> {
  const first = await ask(write(owner))
  const again = await ask(write(owner))
  const stolen = await ask(write(stranger))
  return [
    ...controlFaults(first, again, write(owner)),
    ...isolationFaults(first, stolen, write(stranger)),
  ]
}

async function sharingFaults({ owner, stranger, ask }: Case, write: Write): Promise<Failure[]> {
  const [first, again, stolen] = await Promise.all(
    [owner, owner, stranger].map((key) => ask(write(key))),
  )
  return [
    ...controlFaults(first!, again!, write(owner)),
    ...isolationFaults(first!, stolen!, write(stranger)),
  ]
}

/** Control: the owner must get the cached answer of its own call, or the attack proves nothing. */
function controlFaults(first: Answer, again: Answer, request: Buffer): Failure[] {
  const isShared = first.status === 200 && madeIn(first) === madeIn(again)
  return isShared ? [] : [{ what: 'The owner does not get its own cached answer.', request }]
}

function isolationFaults(first: Answer, stolen: Answer, request: Buffer): Failure[] {
  if (stolen.status !== 200) return [{ what: `A stranger gets status ${stolen.status}.`, request }]
  for (const { text } of [first, stolen])
    if (madeIn({ text }) === undefined)
      return [{ what: `An answer has no id: ${text.slice(0, 500)}`, request }]
  const isOwn = madeIn(stolen) !== madeIn(first) && stolen.headers.get('x-gateway-cache') !== 'hit'
  return isOwn ? [] : [{ what: 'A stranger gets the answer of another account.', request }]
}

/** Events of a tool call must reach the event streams of its own account only. */
async function streamFaults({ owner, stranger, url, ask }: Case): Promise<Failure[]> {
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
  await until('the owner has an event', () => own.text().includes('generate-image')).catch(
    () => undefined,
  )
  const isNotified = own.text().includes('generate-image')
  // Ignores events of other tools, which other checks call with the stranger's key at the same time.
  const overheard = strange.filter(({ text }) => text().includes('generate-image'))
  for (const { leave } of [own, ...strange]) leave()
  return [
    ...stolen,
    ...(isNotified ? [] : [{ what: 'The owner gets no event of its call.', request }]),
    ...overheard.map((one) => ({
      what: 'A stranger gets an event of a call.',
      request: one.request,
    })),
  ]
}

/** A session id of another account, or an unknown one, must be answered with 404. */
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
        : [{ what: `A session of another account is answered with ${status}.`, request }]
    }),
  )
  return [
    ...(given === '' ? [{ what: 'The owner gets no session.', request: '' }] : []),
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

/** A cancellation with another key must have no effect, even with the id of the call. */
async function cancellationFaults({
  owner,
  limited,
  stranger,
  url,
  ask,
}: Case): Promise<Failure[]> {
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
  return [{ what: 'A call was cancelled with another key.', request: requests[0]! }]
}

/** A request id, idempotency key or session id of another call must not lead to its answer. */
async function idFaults({ owner, stranger, ask }: Case): Promise<Failure[]> {
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
    ...isolationFaults(first, stolen, request),
    ...(isTaken ? [{ what: 'A call has the request id of another call.', request }] : []),
  ]
}

const responsesPath = '/v1/responses'

/** A stored response must be found by its own account only, and by keys that may call all models. */
async function storedFaults({ owner, limited, stranger, ask }: Case): Promise<Failure[]> {
  const first = await ask(posted(responsesPath, owner, { body: { model, input: randomUUID() } }))
  const { id, output } = JSON.parse(first.text) as { id: string; output: { id: string }[] }
  const chained = { model, input: 'Go on.', previous_response_id: id }
  const referring = { model, input: [{ type: 'item_reference', id: output[0]!.id }] }
  const ways = (key: string): Buffer[] => [
    ...[id, `${id}/input_items`].map((path) =>
      got(`${responsesPath}/${path}`, { authorization: `Bearer ${key}` }),
    ),
    ...[chained, referring].map((body) => posted(responsesPath, key, { body })),
  ]
  const failures: Failure[] = []
  for (const [key, status, toCancel] of [
    // Only responses in the background can be cancelled.
    [owner, 200, 400],
    [limited, 404, 404],
    [stranger, 404, 404],
  ] as const) {
    const cancelling = posted(`${responsesPath}/${id}/cancel`, key, { body: {} })
    const asked = ways(key).map((request) => ({ request, status }))
    for (const one of [...asked, { request: cancelling, status: toCancel }]) {
      const { status: found } = await ask(one.request)
      if (found !== one.status)
        failures.push({
          what: `A stored response: ${found} instead of ${one.status}.`,
          request: one.request,
        })
    }
  }
  return failures
}
