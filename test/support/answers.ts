import {
  complaints,
  operation,
  resolve,
  strictComplaints,
  type Header,
  type ResponseObject,
} from './contract.ts'
import { backendComplaints } from './contract-backend.ts'
import { readEvents } from './event-stream.ts'

/** A received answer with its whole body. */
export type Answer = { status: number; headers: Headers; text: string }

export async function received(response: Response): Promise<Answer> {
  const { status, headers } = response
  return { status, headers, text: await response.text() }
}

/** Violations of the contract in an answer of an operation; empty when it complies. */
export function answerComplaints(id: string, answer: Answer): string[] {
  const declared = operation(id).responses[String(answer.status)]
  if (declared === undefined) return [`${id} does not declare the status ${answer.status}.`]
  const promised = resolve(declared)
  return [
    ...headerComplaints(promised, answer.headers),
    ...bodyComplaints(id, promised, answer),
    ...backendComplaints(id, answer),
  ]
}

function headerComplaints({ headers: promised = {} }: ResponseObject, headers: Headers): string[] {
  const names = new Set(Object.keys(promised).map((name) => name.toLowerCase()))
  const unknown = [...headers.keys()].filter((name) => ours(name) && !names.has(name))
  const wrong = Object.entries(promised).flatMap(([name, header]) => {
    const { required = false, schema } = resolve<Header>(header)
    const text = headers.get(name)
    if (text === null) return required ? [`The header ${name} is missing.`] : []
    const found = complaints(schema, resolve(schema).type === 'integer' ? Number(text) : text)
    return found.map((complaint) => `The header ${name}: ${complaint}`)
  })
  return [...unknown.map((name) => `The header ${name} is not declared.`), ...wrong]
}

/** Headers of HTTP itself, of caches, of browsers' protection and of the connection. */
const general =
  /^(access-control-.*|cache-control|connection|content-(encoding|language|length|security-policy|type)|cross-origin-.*|date|etag|keep-alive|last-modified|origin-agent-cluster|permissions-policy|pragma|referrer-policy|strict-transport-security|transfer-encoding|vary|x-content-type-options|x-frame-options)$/

/** Whether a header is part of the gateway's API. The contract must declare such a header. */
function ours(name: string): boolean {
  return !general.test(name)
}

function errorSchema(id: string) {
  const isAnthropics = operation(id)['x-error-form'] === 'messages'
  return { $ref: `#/components/schemas/${isAnthropics ? 'MessageErrorResponse' : 'ErrorResponse'}` }
}

function bodyComplaints(
  id: string,
  { content }: ResponseObject,
  { headers, text }: Answer,
): string[] {
  if (content === undefined) return text === '' ? [] : ['There is a body, but none is declared.']
  const type = (headers.get('content-type') ?? '').split(';')[0]!
  const media = content[type]
  if (media === undefined) return [`The media type '${type}' is not declared.`]
  if (type === 'application/json') return strictComplaints(media.schema, JSON.parse(text))
  // Errors in a stream have the form of the other errors of the operation.
  const error = errorSchema(id)
  return readEvents(text).flatMap(({ name, data }) => {
    if (data === undefined || data === '[DONE]') return []
    const schema = name === 'error' ? error : resolve(media.schema).contentSchema
    return strictComplaints(schema!, JSON.parse(data))
  })
}

/** Parses the bytes of an HTTP/1.1 answer. */
export function readAnswer(bytes: string): Answer {
  const [head = '', text = ''] = bytes.split('\r\n\r\n')
  const [line = '', ...lines] = head.split('\r\n')
  const headers = lines.map((one): [string, string] => {
    const at = one.indexOf(':')
    return [one.slice(0, at), one.slice(at + 1).trim()]
  })
  return { status: Number(line.split(' ')[1]), headers: new Headers(headers), text }
}
