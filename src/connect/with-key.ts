/** Checks that need an API key: tools, sessions, and event streams. */
import { hasNoAnswer, type Answer, type Ask, type Requester, type Watched } from './ask.ts'
import { brokenAnswer } from './checks/any-answer.ts'
import { quoted, type Fault } from './fault.ts'
import { headersOf, initialize, listTools, listToolsNewest, openStream, post } from './messages.ts'
import { readObject } from './step.ts'
import type { Target } from './target.ts'

/** The results of the checks with a key. */
type Found = { works: string[]; faults: Fault[]; notes: string[] }

type Use = { requester: Requester; target: Target; key: string; holdMs: number; found: Found }

/** Runs the checks that need a key; an event stream is watched for `holdMs`. */
export async function examineWithKey(use: Omit<Use, 'found'>): Promise<Found> {
  const found: Found = { works: [], faults: [], notes: [] }
  const all = { ...use, found }
  const authorization = ['Authorization', `Bearer ${use.key}`] as const
  const works = 'the key is accepted, and the handshake works'
  if (!(await acceptsKey(all, authorization, works))) return found
  await acceptsKey(all, ['x-api-key', use.key], 'the key is accepted in the header x-api-key too')
  for (const examine of [listsTools, listsMixed, session, stream, webPages]) await examine(all)
  return found
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` })

function record({ found }: Use, works: string, fault: Fault | undefined): boolean {
  if (fault === undefined) found.works.push(works)
  else found.faults.push(fault)
  return fault === undefined
}

async function acceptsKey(
  use: Use,
  [name, value]: readonly [name: string, value: string],
  works: string,
): Promise<boolean> {
  const ask = post(use.target, initialize, { [name.toLowerCase()]: value })
  const response = await use.requester.ask(ask)
  return record(use, works, brokenAnswer(ask, response) ?? keyFault(response as Answer, name))
}

function keyFault(answer: Answer, header: string): Fault | undefined {
  if (answer.status === 200 && readObject(answer)?.['result'] !== undefined) return undefined
  return {
    code: answer.status === 401 ? 'key_refused' : 'handshake_refused',
    text: `The handshake with the key in the header ${header} is answered ${answer.status}${messageIn(answer)}.`,
    remedy:
      answer.status === 401
        ? 'Use a key of this gateway that has not expired. The command `keys list` lists the keys.'
        : 'Look up the request by its x-request-id in the log of the gateway.',
  }
}

async function listsTools(use: Use): Promise<void> {
  const { requester, target, key, found } = use
  const ask = post(target, listTools, { ...bearer(key), ...headersOf.older })
  const response = await requester.ask(ask)
  const broken = brokenAnswer(ask, response)
  if (broken !== undefined) return void found.faults.push(broken)
  const { tools } = (readObject(response as Answer)?.['result'] ?? {}) as { tools?: unknown }
  const count = Array.isArray(tools) ? tools.length : 0
  if (count > 0) return void found.works.push(`${count} tools are listed`)
  found.faults.push({
    code: 'no_tools',
    text: `tools/list returns no tools${messageIn(response as Answer)}.`,
    remedy: 'Use a key with the scope inference, and read the log of the gateway.',
  })
}

/** Lists tools as Claude does: with the header of one protocol revision and a body of a later one. */
async function listsMixed(use: Use): Promise<void> {
  const { requester, target, key } = use
  const ask = post(target, listToolsNewest, { ...bearer(key), ...headersOf.older })
  const response = await requester.ask(ask)
  const fault = brokenAnswer(ask, response) ?? mixedFault(response as Answer)
  record(use, 'requests of two mixed revisions, as Claude sends them, are accepted', fault)
}

function mixedFault(answer: Answer): Fault | undefined {
  if (readObject(answer)?.['result'] !== undefined) return undefined
  return {
    code: 'revisions_refused',
    text: `A request with the header of revision 2025-11-25 and a body of 2026-07-28, as Claude sends it, is answered ${answer.status}${messageIn(answer)}.`,
    remedy: 'Update the gateway; a proxy must not add or rewrite MCP-Protocol-Version.',
  }
}

async function session(use: Use): Promise<void> {
  const { requester, target, key, found } = use
  const response = await requester.ask(post(target, initialize, bearer(key)))
  if (hasNoAnswer(response)) return
  const id = response.headers['mcp-session-id']
  if (id === undefined) {
    found.faults.push({
      code: 'session_stripped',
      text: 'The answer to initialize has no Mcp-Session-Id: two clients of one key can cancel each other’s calls.',
      remedy:
        'Configure the proxy to pass Mcp-Session-Id in both directions: no `proxy_hide_header Mcp-Session-Id`.',
    })
    return
  }
  const headers = { ...bearer(key), 'mcp-session-id': id }
  const ask = post(target, listTools, { ...headers, ...headersOf.older })
  const listed = await requester.ask(ask)
  const fault = brokenAnswer(ask, listed) ?? sessionFault(listed as Answer)
  const foreign = { ...headers, 'mcp-session-id': 'connection-check', ...headersOf.older }
  const unknown = await requester.ask(post(target, listTools, foreign))
  const isReceived = hasNoAnswer(unknown) || unknown.status === 404
  record(
    use,
    'a session is created and accepted',
    fault ?? (isReceived ? undefined : sessionUnread(unknown)),
  )
  await requester.ask({ method: 'DELETE', url: target.endpoint, headers })
}

/** The fault of a made-up session that is not answered 404: the gateway did not receive the header. */
function sessionUnread({ status }: Answer): Fault {
  return {
    code: 'session_header_stripped',
    text: `A made-up Mcp-Session-Id is answered ${status} instead of 404: the gateway does not receive the header.`,
    remedy: 'Configure the proxy to pass Mcp-Session-Id of requests unchanged.',
  }
}

function sessionFault(answer: Answer): Fault | undefined {
  if (answer.status === 200) return undefined
  return {
    code: 'session_refused',
    text: `A request with a new Mcp-Session-Id is answered ${answer.status}${messageIn(answer)}.`,
    remedy:
      'Configure the same store for all replicas of the gateway, and the proxy to pass Mcp-Session-Id unchanged.',
  }
}

async function stream(use: Use): Promise<void> {
  const { requester, target, key, holdMs } = use
  const ask = openStream(target, { ...bearer(key), 'accept-encoding': 'gzip, br' })
  const response = await requester.watch(ask, holdMs)
  if (hasNoAnswer(response))
    return void record(use, '', response.errorCode === 'timeout' ? buffered(0) : cutStream(0))
  const fault = streamFault(response, holdMs)
  record(use, `an event stream stays open (watched for ${holdMs / 1000} s)`, fault)
}

function buffered(afterMs: number): Fault {
  const missing =
    afterMs === 0
      ? 'the first bytes, which the gateway sends at once, did not arrive'
      : `nothing arrived in the ${afterMs / 1000} s after its first bytes, though the gateway sends a comment every 15 s`
  return {
    code: 'stream_buffered',
    text: `An event stream was opened, but ${missing}.`,
    remedy:
      'Disable buffering in the proxy: nginx `proxy_buffering off;` with `proxy_http_version 1.1;`, Caddy `flush_interval -1`. Keep limits.ping_interval_ms at 15 s or less.',
  }
}

function cutStream(afterMs: number): Fault {
  return {
    code: 'stream_cut',
    text: `An event stream was cut after ${Math.round(afterMs / 1000)} s; clients then reconnect again and again, and long calls are lost.`,
    remedy:
      'Raise the timeouts of the proxy: nginx `proxy_read_timeout 630s;`, Caddy `response_header_timeout 630s`, at a load balancer its idle timeout.',
  }
}

/** Time limit for the first bytes, which the gateway sends at once; enough for any network. */
const firstByteMs = 5000

function streamFault(
  { status, headers, piecesMs, endedMs }: Watched,
  holdMs: number,
): Fault | undefined {
  const type = headers['content-type'] ?? ''
  if (status !== 200 || !/^text\/event-stream/i.test(type)) {
    return {
      code: 'stream_refused',
      text: `The request for an event stream is answered ${status} with ${quoted(type)}: clients repeat it again and again.`,
      remedy: 'Configure the proxy to pass GET /mcp with an unchanged header Accept.',
    }
  }
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding !== 'identity') {
    return {
      code: 'stream_compressed',
      text: `Event streams are compressed (${quoted(encoding)}), which delays events.`,
      remedy: 'Do not compress text/event-stream: nginx `gzip off;`, Caddy without `encode`.',
    }
  }
  if (endedMs !== undefined && endedMs < holdMs) return cutStream(endedMs)
  const [first, second] = piecesMs
  if (first === undefined || first > firstByteMs) return buffered(0)
  // A buffering nginx forwards the bytes that arrived with the headers, but delays later bytes.
  return second === undefined ? buffered(holdMs) : undefined
}

const webOrigins = ['https://claude.ai', 'https://chatgpt.com']

/** Checks requests with the header Origin, which web pages send, but not the connectors of hosted clients. */
async function webPages({ requester, target, key, found }: Use): Promise<void> {
  const refused: string[] = []
  for (const origin of webOrigins) {
    const ask: Ask = post(target, { method: 'ping' }, { ...bearer(key), origin })
    const response = await requester.ask(ask)
    if (hasNoAnswer(response) || response.status !== 403) continue
    const broken = brokenAnswer(ask, response)
    if (broken !== undefined) return void found.faults.push(broken)
    refused.push(origin)
  }
  if (refused.length === 0)
    return void found.works.push('web pages of Claude and ChatGPT may call the tool server')
  const list = refused.join(', ')
  found.notes.push(
    `Web pages of ${list} may not call the tool server; their connectors, which call from servers, may. To allow the pages, set allowed_origins: [${list}] in gateway.yaml.`,
  )
}

/** The error message of the tool server, with a colon in front; empty if it sent none. */
function messageIn(answer: Answer): string {
  const error = readObject(answer)?.['error'] as { message?: unknown } | undefined
  return error?.message === undefined ? '' : `: ${quoted(error.message)}`
}
