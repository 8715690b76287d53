import type { OperationRow } from '../../test/support/contract.ts'

/** A request as an attack sends it; its bytes may still be cut or changed. */
export type HttpRequest = {
  /** Of the contract, where method and path are its own. */
  operation: OperationRow | undefined
  method: string
  path: string
  headers: readonly (readonly [string, string])[]
  body: Buffer
}

/** The bytes of a request, with the length of its body unless a header says another. */
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
