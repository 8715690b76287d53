import type { IncomingMessage } from 'node:http'
import { GatewayError } from '../core/error.ts'
import { encodingsRead } from './unpack.ts'

const json = 'application/json'

/** Whether the body is a form, as its Content-Type says. */
export function isForm(request: IncomingMessage): boolean {
  return typeOf(request) === 'multipart/form-data'
}

/**
 * Throws `unsupported_media_type` unless the body has one of these types in UTF-8, in an encoding
 * that is read. Where JSON is taken, so is a body that does not say what it is.
 */
export function checkMediaType(request: IncomingMessage, types: readonly string[]): void {
  joinSame(request)
  const { 'content-type': contentType = '', 'content-encoding': encoding } = request.headers
  const type = typeOf(request)
  const isTaken = types.includes(type) || (types.includes(json) && mayBeJson.test(type))
  if (!isTaken) throw unsupported('content-type', typeText(type, types))
  if (encoding !== undefined && !encodingsRead.includes(encoding.toLowerCase())) {
    const known = encodingsRead.join(', ')
    throw unsupported(
      'content-encoding',
      `The Content-Encoding is none of: ${known}. Send it plain.`,
    )
  }
  const charset = /charset="?([^";]+)/i.exec(contentType)?.[1] ?? 'utf-8'
  if (!/^(?:utf-?8|us-ascii)$/i.test(charset.trim())) {
    throw unsupported('content-type', 'The charset is not read. Send UTF-8.')
  }
}

/** Proxies and clients join a header that is there twice with a comma: the same type twice is one. */
function joinSame({ headers }: IncomingMessage): void {
  const { 'content-type': given } = headers
  const [first, ...others] = given?.includes(',') ? given.split(/\s*,\s*/) : []
  const isSame = others.length > 0 && others.every((other) => other === first)
  if (isSame) headers['content-type'] = first
}

/** What clients say of JSON when nobody has told them better; also `application/<name>+json`. */
const mayBeJson = /^$|^text\/(?:plain|json)$|^application\/[\w.-]+\+json$/

function typeText(type: string, types: readonly string[]): string {
  const asked = `Send ${types.join(' or ')}.`
  if (type !== 'application/x-www-form-urlencoded') {
    return `The Content-Type '${type.slice(0, 100)}' is not read here. ${asked}`
  }
  return `The Content-Type says that the body is a form. ${asked} With curl: -H 'Content-Type: ${json}'.`
}

/** The media type of a request's body, without parameters, in lower case; `''` without one. */
function typeOf({ headers }: IncomingMessage): string {
  return (headers['content-type'] ?? '').split(';', 1)[0]!.trim().toLowerCase()
}

function unsupported(param: string, text: string): GatewayError {
  return new GatewayError('unsupported_media_type', text, { param })
}
