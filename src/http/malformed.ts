import type { Socket } from 'node:net'
import { GatewayError } from '../core/error.ts'
import { errorBody } from './error-answer.ts'
import { newRequestId } from './exchange.ts'

const answers: Record<string, { line: string; error: GatewayError }> = {
  HPE_HEADER_OVERFLOW: {
    line: '431 Request Header Fields Too Large',
    error: new GatewayError('request_too_large', 'The request headers are too large. Send fewer.'),
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    line: '408 Request Timeout',
    error: new GatewayError('timeout', 'The request took too long to arrive.', { status: 408 }),
  },
}
const badRequest = {
  line: '400 Bad Request',
  error: new GatewayError('invalid_value', 'This is not an HTTP request.'),
}

/** Answers what Node's HTTP parser rejects, which never reaches Koa, with the usual error body. */
export function refuseMalformed(cause: NodeJS.ErrnoException, socket: Socket): void {
  if (cause.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const { line, error } = answers[cause.code ?? ''] ?? badRequest
  const body = JSON.stringify(errorBody(error))
  socket.end(
    `HTTP/1.1 ${line}\r\nx-request-id: ${newRequestId()}\r\nconnection: close\r\n` +
      `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
}
