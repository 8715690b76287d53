import { bytesOf } from './http-request.ts'

type More = { headers?: readonly (readonly [string, string])[]; body?: object | string | Buffer }

/** The bytes of a POST with a key. The request bypasses the cache, so that it reaches the vendor. */
export function posted(path: string, key: string, { headers = [], body = {} }: More = {}): Buffer {
  const isText = typeof body === 'string' || Buffer.isBuffer(body)
  const all = new Map<string, string>([
    ['content-type', 'application/json'],
    ['authorization', `Bearer ${key}`],
    ['cache-control', 'no-store'],
    ...headers,
  ])
  const content = Buffer.from(isText ? body : JSON.stringify(body))
  return bytesOf({ operation: undefined, method: 'POST', path, headers: [...all], body: content })
}

/** A chat with a model of the operator's own server; the model's name selects the answer. */
export function asked(model: string, key: string, members: object = {}): Buffer {
  const messages = [{ role: 'user', content: 'Hi' }]
  return posted(chatPath, key, { body: { model: `own/${model}`, messages, ...members } })
}

export const chatPath = '/v1/chat/completions'

export function got(path: string, headers: Record<string, string> = {}): Buffer {
  const own = Object.entries(headers)
  return bytesOf({ operation: undefined, method: 'GET', path, headers: own, body: Buffer.alloc(0) })
}
