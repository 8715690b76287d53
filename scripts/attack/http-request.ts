import type { OperationRow } from '../../test/support/contract.ts'

/** A request of an attack; its bytes may be cut or changed before they are sent. */
export type HttpRequest = {
  /** The contract's operation; undefined when method and path match no operation. */
  operation: OperationRow | undefined
  method: string
  path: string
  headers: readonly (readonly [string, string])[]
  body: Buffer
}

/** The bytes of a request; adds `host` and `content-length` unless headers set them. */
export function bytesOf({ method, path, headers, body }: HttpRequest): Buffer {
  const names = new Set(headers.map(([name]) => name.toLowerCase()))
  const all = [
    ...(names.has('host') ? [] : [['host', 'gateway'] as const]),
    ...headers,
    ...(names.has('content-length') || (method === 'GET' && body.length === 0)
      ? []
      : [['content-length', String(body.length)] as const]),
  ]
  const lines = all.map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.concat([
    Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`, 'latin1'),
    body,
  ])
}
