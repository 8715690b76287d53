import { bodyOf, POST, Refusal, refusalOf, type Schemas } from './api.ts'
import { noteAnswer, noteSilence } from './connection.ts'
import { accountQuery, sessionLoaded } from './session.ts'

export type Mode = Schemas['Mode']
type Asking = {
  mode: Mode
  method?: 'GET' | 'POST' | 'DELETE'
  signal: AbortSignal
  idempotencyKey?: string
  /** Header `prefer`. */
  prefer?: string
}

/** Session keys by account and mode, kept in memory only. */
const keys = new Map<string, Promise<string>>()

/** The session key; requests that were refused with the same key share one new key. */
export async function keyFor(mode: Mode, refused?: string): Promise<string> {
  const query = accountQuery()
  const place = `${mode} ${query.account_id ?? ''}`
  const known = keys.get(place)
  const key = await known?.catch(() => undefined)
  if (key !== undefined && key !== refused) return key
  // A concurrent request may already have replaced the refused key.
  if (keys.get(place) !== known) return keyFor(mode, refused)
  const asked = bodyOf(
    POST('/api/sessions/current/key', { params: { query }, body: { mode } }),
  ).then((created) => created.key)
  keys.set(place, asked)
  asked.catch(() => keys.get(place) === asked && keys.delete(place))
  return asked
}

/**
 * Calls an operation below /v1 as an API client does, with the key of the session. An expired key is renewed
 * once. Resolves with an answer of status 2xx. Throws a Refusal.
 */
export async function call(path: string, body: unknown, asking: Asking): Promise<Response> {
  await sessionLoaded
  const key = await keyFor(asking.mode)
  const first = await send(path, body, asking, key)
  const response =
    first.status === 401 ? await send(path, body, asking, await keyFor(asking.mode, key)) : first
  if (response.ok) return response
  const refusal: unknown = await response.json().catch(() => undefined)
  throw refusalOf(refusal, response)
}

async function send(
  path: string,
  body: unknown,
  { method = 'POST', signal, idempotencyKey, prefer }: Asking,
  key: string,
): Promise<Response> {
  const headers = {
    authorization: `Bearer ${key}`,
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
    ...(prefer === undefined ? {} : { prefer }),
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

/** The Refusal for a connection that failed before the answer was complete. */
export function away(): Refusal {
  const text =
    'The gateway cannot be reached, or was restarted. Try again: a finished result is not charged twice.'
  return new Refusal(text, { status: 0, code: 'unreachable' })
}

/** A new idempotency key: calls that repeat it run and cost once. */
export function newAttemptKey(): string {
  // Browsers provide `crypto.randomUUID` only to pages on HTTPS or localhost.
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return `playground-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`
}
