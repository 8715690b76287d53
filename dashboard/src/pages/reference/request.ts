import { keyVariable, quoted } from '../../data/curl.ts'
import type { Snippet } from '../../data/snippets.ts'
import { takes, type Operation, type Parameter } from './contract.ts'

/** What a person filled in: parameters by `in` and name, and the body as text. */
export type Filled = { values: Readonly<Record<string, string>>; body: string }

type Request = {
  method: string
  path: string
  headers: Record<string, string>
  body: string | undefined
}

export const nameOf = ({ in: where, name }: Parameter) => `${where} ${name}`

/** The value of a JSON text; undefined for another text. */
export function jsonOf(text: string, revive?: (name: string, value: unknown) => unknown): unknown {
  try {
    return JSON.parse(text, revive)
  } catch {
    return undefined
  }
}

/** The members of a JSON object; undefined for another text. */
export function membersOf(text: string): Record<string, unknown> | undefined {
  const value = jsonOf(text)
  return Object.prototype.toString.call(value) === '[object Object]' ? Object(value) : undefined
}

/** The HTTP request of an operation, without credentials. */
export function requestOf(operation: Operation, { values, body }: Filled): Request {
  const { method, parameters, requestBody } = operation
  const given = (where: Parameter['in']) =>
    parameters
      .filter((one) => one.in === where && values[nameOf(one)])
      .map((one): [string, string] => [one.name, values[nameOf(one)]!])
  const path = given('path').reduce(
    // The name of a model has slashes, which stay.
    (text, [name, value]) =>
      text.replace(`{${name}}`, encodeURIComponent(value).replaceAll('%2F', '/')),
    operation.path,
  )
  const query = new URLSearchParams(given('query')).toString()
  const [media] = Object.keys(requestBody?.content ?? {})
  const isForm = media === 'application/x-www-form-urlencoded'
  return {
    method,
    path: query === '' ? path : `${path}?${query}`,
    headers: {
      ...(wantsStream(operation, body) && { accept: 'application/json, text/event-stream' }),
      ...(media !== undefined && { 'content-type': media }),
      ...Object.fromEntries(given('header')),
    },
    body:
      media === undefined || body.trim() === ''
        ? undefined
        : isForm
          ? new URLSearchParams(membersOf(body) as Record<string, string>).toString()
          : body,
  }
}

/** Whether the body chooses if the answer is a stream; other operations stream always, or by `accept`. */
export const choosesStream = ({ isStreamed, method, path }: Operation) =>
  isStreamed && method === 'POST' && path.startsWith('/v1/')

const wantsStream = (operation: Operation, body: string) =>
  choosesStream(operation) ? membersOf(body)?.['stream'] === true : operation.isStreamed

/** A header with credentials: its name, the text before the secret, and the variable with the secret. */
type Proof = readonly [name: string, before: string, variable: string]

function proofsOf(operation: Operation): readonly Proof[] {
  if (takes(operation, 'bearer')) return [['authorization', 'Bearer ', keyVariable]]
  if (!takes(operation, 'session')) return []
  const cookie = ['cookie', 'gateway_session=', 'GATEWAY_SESSION'] as const
  return operation.method === 'GET'
    ? [cookie]
    : [cookie, ['x-csrf-token', '', 'GATEWAY_CSRF_TOKEN']]
}

/** The request as programs that run unchanged with the credentials in the environment. */
export function programsOf(operation: Operation, filled: Filled, origin: string): Snippet[] {
  const request = requestOf(operation, filled)
  const given = { ...request, url: origin + request.path, proofs: proofsOf(operation) }
  return [
    { name: 'curl', text: curl(given) },
    { name: 'TypeScript', text: typescript(given) },
  ]
}

type Given = Request & { url: string; proofs: readonly Proof[] }

function curl({ method, url, headers, body, proofs }: Given): string {
  const isUsual = method === (body === undefined ? 'GET' : 'POST')
  return [
    `curl ${isUsual ? '' : `-X ${method} `}${quoted(url)}`,
    ...proofs.map(([name, before, variable]) => `-H "${name}: ${before}$${variable}"`),
    ...Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    ...('accept' in headers ? ['--no-buffer'] : []),
    ...(body === undefined ? [] : [`-d ${quoted(body)}`]),
  ].join(' \\\n  ')
}

function typescript({ method, url, headers, body, proofs }: Given): string {
  const members = [
    ...proofs.map(([name, before, variable]) => [name, `\`${before}\${process.env.${variable}}\``]),
    ...Object.entries(headers).map(([name, value]) => [name, JSON.stringify(value)]),
  ].map(([name, value]) => `    '${name}': ${value},\n`)
  const sent = membersOf(body ?? '')
    ? `JSON.stringify(${body!.replaceAll('\n', '\n  ')})`
    : JSON.stringify(body)
  return `const response = await fetch(${JSON.stringify(url)}, {
  method: '${method}',
  headers: {
${members.join('')}  },${body === undefined ? '' : `\n  body: ${sent},`}
})
${
  'accept' in headers
    ? `for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
  process.stdout.write(text)
}`
    : 'console.log(response.status, await response.text())'
}`
}
