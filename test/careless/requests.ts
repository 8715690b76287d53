import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import type { TestGateway } from '../support/gateway.ts'
import { pixel } from '../support/pixel.ts'

/** The expected answer to a careless request; members that the answer lacks are absent. */
export type CarelessAnswer = {
  status: number
  code?: string | number
  param?: string
  says?: string
  /** The reasons in the warnings of the answer. */
  warns?: string[]
  /** A part of the text in the result of a tool. */
  shows?: string
}
type Row = {
  name: string
  /** Replaces members of the group's body. */
  change?: Record<string, unknown>
  body?: unknown
  /** The text of the body, if the body is not JSON. */
  raw?: string
  encoding?: BufferEncoding
  headers?: Record<string, string>
  path?: string
  method?: string
  /** False sends the request without a key. */
  key?: false
  answer: CarelessAnswer
}
type Group = { about: string; method: string; path?: string; body?: object; requests: Row[] }
export type CarelessRequest = Row & {
  about: string
  method: string
  path: string
  text: string | undefined
}

/** Reads the careless requests of this folder's YAML files. `KEY` is replaced by a valid key, `PIXEL` by an image. */
export function readRequests(): CarelessRequest[] {
  const files = globSync('*.yaml', { cwd: import.meta.dirname }).sort()
  const groups = files.flatMap(
    (file) => parse(readFileSync(join(import.meta.dirname, file), 'utf8')) as Group[],
  )
  return groups.flatMap(({ about, requests, ...group }) =>
    requests.map((row) => ({
      ...row,
      about,
      method: row.method ?? group.method,
      path: row.path ?? group.path ?? '/',
      text: row.raw ?? bodyText(group, row),
    })),
  )
}

function bodyText({ body: base }: Pick<Group, 'body'>, { body, change = {} }: Row) {
  if (body !== undefined) return JSON.stringify(body)
  return base === undefined ? undefined : JSON.stringify({ ...base, ...change })
}

/** Sends a careless request and reads its answer. */
export async function ask(
  gateway: TestGateway,
  { method, path, headers = {}, key, text, encoding = 'utf8', answer }: CarelessRequest,
): Promise<CarelessAnswer> {
  const fill = (value: string) => value.replace('KEY', gateway.testKey).replaceAll('PIXEL', pixel)
  const own = Object.entries(headers).map(([name, value]) => [name, fill(value)])
  const hasBody = text !== undefined && method === 'POST'
  const response = await gateway.fetch(fill(path), {
    method,
    ...(key === false ? { key: null } : {}),
    headers: {
      ...(hasBody ? { 'content-type': 'application/json' } : {}),
      ...(Object.fromEntries(own) as Record<string, string>),
    },
    ...(hasBody ? { body: new Uint8Array(Buffer.from(fill(text), encoding)) } : {}),
  })
  return answerOf(response.status, await response.text(), answer.shows)
}

type AnswerBody = {
  error?: { message: string; code: string | number | null; param?: string | null }
  result?: { isError?: boolean; content?: { text?: string }[] }
  warnings?: { reason: string }[]
}

function answerOf(status: number, text: string, wanted?: string): CarelessAnswer {
  if (!text.startsWith('{')) return { status }
  const { error, result, warnings } = JSON.parse(text) as AnswerBody
  if (result?.isError === true) return { status, code: 'isError', says: result.content![0]!.text! }
  if (error === undefined && wanted !== undefined) {
    const shown = result?.content?.map((block) => block.text ?? '').join('\n') ?? ''
    return { status, shows: shown.includes(wanted) ? wanted : shown }
  }
  if (error === undefined) {
    return warnings === undefined
      ? { status }
      : { status, warns: warnings.map(({ reason }) => reason) }
  }
  const { code, param, message: says } = error
  return { status, code: code!, ...(param == null ? {} : { param }), says }
}

/** The value that an error suggests for the parameter; undefined if it suggests none. */
function suggestedValue({ says = '' }: CarelessAnswer): unknown {
  const json =
    /Send (\S+) without quotes\.$/.exec(says) ??
    /Send (".+"), in quotes\.$/.exec(says) ??
    /Put it in a list: (\[.+\])\.$/.exec(says) ??
    /For example: (.+)$/.exec(says)
  if (json !== null) return JSON.parse(json[1]!)
  const isName = says.includes('is not a parameter')
  const meant = isName ? null : /Did you mean '([^']+)'\?$/.exec(says)
  return meant?.[1]
}

/** The request with the value that its error suggests; undefined if it suggests none. */
export function remedied(request: CarelessRequest): CarelessRequest | undefined {
  const { answer, text, raw } = request
  const value = suggestedValue(answer)
  if (value === undefined || raw !== undefined || text === undefined) return undefined
  const body = JSON.parse(text) as { params?: { arguments?: object } }
  const root = body.params?.arguments ?? body
  const [name] = /(?<=^')[^']+(?=')/.exec(answer.says ?? '') ?? []
  if (name === undefined) return undefined
  const path = name.replaceAll(/\[(\d+)\]/g, '.$1').split('.')
  const holder = path.slice(0, -1).reduce((inner, key) => Reflect.get(inner, key) as object, root)
  Reflect.set(holder, path.at(-1)!, value)
  return { ...request, text: JSON.stringify(body) }
}
