import { bodyOf, POST, Refusal, refusalOf, type Schemas } from '../../data/api.ts'
import { noteAnswer, noteSilence } from '../../data/connection.ts'
import { accountQuery, sessionKnown } from '../../data/session.ts'

export type Mode = Schemas['Mode']
type Asking = { mode: Mode; method?: 'GET' | 'POST'; signal: AbortSignal; idempotencyKey?: string }

/** The keys of this visit, in memory alone; by account and mode. */
const keys = new Map<string, Promise<string>>()

/** The key to call with; another one than was refused, which all who were refused with it share. */
async function keyFor(mode: Mode, refused?: string): Promise<string> {
  const query = accountQuery()
  const place = `${mode} ${query.account_id ?? ''}`
  const known = keys.get(place)
  const key = await known?.catch(() => undefined)
  if (key !== undefined && key !== refused) return key
  // Somebody else may have asked for the next one meanwhile.
  if (keys.get(place) !== known) return keyFor(mode, refused)
  const asked = bodyOf(
    POST('/api/sessions/current/key', { params: { query }, body: { mode } }),
  ).then((created) => created.key)
  keys.set(place, asked)
  asked.catch(() => keys.get(place) === asked && keys.delete(place))
  return asked
}

/**
 * Calls an operation below /v1 as any program does, with the key of the session; one that has ended is
 * renewed once. Resolves with an answer that is well. Throws a Refusal.
 */
export async function call(path: string, body: unknown, asking: Asking): Promise<Response> {
  await sessionKnown
  const key = await keyFor(asking.mode)
  const first = await send(path, body, asking, key)
  const response =
    first.status === 401 ? await send(path, body, asking, await keyFor(asking.mode, key)) : first
  if (response.ok) return response
  const told: unknown = await response.json().catch(() => undefined)
  throw refusalOf(told, response)
}

async function send(
  path: string,
  body: unknown,
  { method = 'POST', signal, idempotencyKey }: Asking,
  key: string,
): Promise<Response> {
  const headers = {
    authorization: `Bearer ${key}`,
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
  }
  const text = body === undefined ? null : JSON.stringify(body)
  try {
    const sent = { method, headers, body: text, signal, credentials: 'omit' } as const
    const response = await fetch(path, sent)
    noteAnswer(response)
    return response
  } catch (error) {
    if (signal.aborted) throw error
    noteSilence()
    throw away()
  }
}

/** The gateway went away before it had answered. */
export function away(): Refusal {
  const text =
    'The gateway cannot be reached, or has restarted. Try again: what it has made already is not paid twice.'
  return new Refusal(text, { status: 0, code: 'unreachable' })
}

/** Names an attempt, so that it is made and paid once however often it is sent. */
export function newAttemptKey(): string {
  // `randomUUID` is there on https and on this machine alone.
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return `playground-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`
}
