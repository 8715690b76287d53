/** What can be seen with a key alone: tools, sessions, and streams that stay open. */
import { isSilent, type Answer, type Ask, type Line, type Watched } from './ask.ts'
import { brokenAnswer } from './checks/any-answer.ts'
import { quoted, type Fault } from './fault.ts'
import { headersOf, initialize, listTools, listToolsNewest, openStream, post } from './messages.ts'
import { readObject } from './move.ts'
import type { Target } from './target.ts'

/** What was found with a key. */
export type Found = { works: string[]; faults: Fault[]; notes: string[] }

type Use = { line: Line; target: Target; key: string; holdMs: number; found: Found }

/** Uses the key as clients do; `holdMs` is how long a silent stream is watched. */
export async function examineWithKey(use: Omit<Use, 'found'>): Promise<Found> {
  const found: Found = { works: [], faults: [], notes: [] }
  const all = { ...use, found }
  const isTaken = await takesKey(all)
  if (!isTaken) return found
  for (const examine of [takesHeader, lists, listsMixed, session, stream, webPages])
    await examine(all)
  return found
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` })

function tell({ found }: Use, works: string, fault: Fault | undefined): boolean {
  if (fault === undefined) found.works.push(works)
  else found.faults.push(fault)
  return fault === undefined
}

async function takesKey(use: Use): Promise<boolean> {
  const { line, target, key } = use
  const ask = post(target, initialize, bearer(key))
  const told = await line.ask(ask)
  const broken = brokenAnswer(ask, told) ?? keyFault(told as Answer, 'Authorization')
  return tell(use, 'the key is taken, and the handshake works', broken)
}

async function takesHeader(use: Use): Promise<void> {
  const { line, target, key } = use
  const ask = post(target, initialize, { 'x-api-key': key })
  const told = await line.ask(ask)
  const broken = brokenAnswer(ask, told) ?? keyFault(told as Answer, 'x-api-key')
  tell(use, 'the key is taken in the header x-api-key too', broken)
}

function keyFault(answer: Answer, header: string): Fault | undefined {
  if (answer.status === 200 && readObject(answer)?.['result'] !== undefined) return undefined
  return {
    code: answer.status === 401 ? 'key_refused' : 'handshake_refused',
    text: `The handshake with the key in the header ${header} is answered ${answer.status}${messageIn(answer)}.`,
    remedy:
      answer.status === 401
        ? 'Give a key that this gateway made, and that has not expired: `npm run -s gateway -- keys list`.'
        : 'Look into the log of the gateway, where the request stands by its x-request-id.',
  }
}

async function lists(use: Use): Promise<void> {
  const { line, target, key, found } = use
  const ask = post(target, listTools, { ...bearer(key), ...headersOf.older })
  const told = await line.ask(ask)
  const broken = brokenAnswer(ask, told)
  if (broken !== undefined) return void found.faults.push(broken)
  const { tools } = (readObject(told as Answer)?.['result'] ?? {}) as { tools?: unknown }
  const count = Array.isArray(tools) ? tools.length : 0
  if (count > 0) return void found.works.push(`${count} tools are listed`)
  found.faults.push({
    code: 'no_tools',
    text: `tools/list gives no tools${messageIn(told as Answer)}.`,
    remedy: 'Look into the log of the gateway; the key needs the scope inference.',
  })
}

/** Claude sends the header of one revision with a body of the next. */
async function listsMixed(use: Use): Promise<void> {
  const { line, target, key } = use
  const ask = post(target, listToolsNewest, { ...bearer(key), ...headersOf.older })
  const told = await line.ask(ask)
  const fault = brokenAnswer(ask, told) ?? mixedFault(told as Answer)
  tell(use, 'the newest revision is taken as Claude sends it', fault)
}

function mixedFault(answer: Answer): Fault | undefined {
  if (readObject(answer)?.['result'] !== undefined) return undefined
  return {
    code: 'revisions_refused',
    text: `A request with the header of 2025-11-25 and the body of 2026-07-28, as Claude sends it, is answered ${answer.status}${messageIn(answer)}.`,
    remedy: 'Update the gateway; a proxy must not add or rewrite MCP-Protocol-Version.',
  }
}

async function session(use: Use): Promise<void> {
  const { line, target, key, found } = use
  const told = await line.ask(post(target, initialize, bearer(key)))
  if (isSilent(told)) return
  const id = told.headers['mcp-session-id']
  if (id === undefined) {
    found.faults.push({
      code: 'session_stripped',
      text: 'The answer to initialize has no Mcp-Session-Id: two clients of one key can cancel each other’s calls.',
      remedy:
        'Have the proxy pass Mcp-Session-Id both ways: no `proxy_hide_header Mcp-Session-Id`.',
    })
    return
  }
  const headers = { ...bearer(key), 'mcp-session-id': id }
  const ask = post(target, listTools, { ...headers, ...headersOf.older })
  const listed = await line.ask(ask)
  const fault = brokenAnswer(ask, listed) ?? sessionFault(listed as Answer)
  const foreign = { ...headers, 'mcp-session-id': 'connection-check', ...headersOf.older }
  const unknown = await line.ask(post(target, listTools, foreign))
  const isRead = isSilent(unknown) || unknown.status === 404
  tell(use, 'a session is given and taken', fault ?? (isRead ? undefined : sessionUnread(unknown)))
  await line.ask({ method: 'DELETE', url: target.endpoint, headers })
}

/** A made-up session is told to be none, so its header arrived. */
function sessionUnread({ status }: Answer): Fault {
  return {
    code: 'session_header_stripped',
    text: `A made-up Mcp-Session-Id is answered ${status} and not 404: the header does not arrive at the gateway.`,
    remedy: 'Have the proxy pass Mcp-Session-Id of requests as it is.',
  }
}

function sessionFault(answer: Answer): Fault | undefined {
  if (answer.status === 200) return undefined
  return {
    code: 'session_refused',
    text: `A request with the Mcp-Session-Id that was just given is answered ${answer.status}${messageIn(answer)}.`,
    remedy: 'Give all replicas of the gateway the same store, and have proxies pass the header.',
  }
}

async function stream(use: Use): Promise<void> {
  const { line, target, key, holdMs } = use
  const ask = openStream(target, { ...bearer(key), 'accept-encoding': 'gzip, br' })
  const told = await line.watch(ask, holdMs)
  if (isSilent(told))
    return void tell(use, '', told.silent === 'timeout' ? buffered(0) : cutStream(0))
  const fault = streamFault(told, holdMs)
  tell(use, `a stream of events stays open (watched for ${holdMs / 1000} s)`, fault)
}

function buffered(afterMs: number): Fault {
  const missing =
    afterMs === 0
      ? 'the byte that the gateway sends at once did not come'
      : `nothing came behind its first bytes for ${afterMs / 1000} s, though the gateway sends a comment each 15 s`
  return {
    code: 'stream_buffered',
    text: `A stream of events was opened, and ${missing}.`,
    remedy:
      'Have the proxy pass answers as they come: nginx `proxy_buffering off;` with `proxy_http_version 1.1;`, Caddy `flush_interval -1`. Keep limits.ping_interval_ms at 15 s or below.',
  }
}

function cutStream(afterMs: number): Fault {
  return {
    code: 'stream_cut',
    text: `A stream of events was cut after ${Math.round(afterMs / 1000)} s; clients then connect again and again, and long calls are lost.`,
    remedy:
      'Let the proxy wait longer for answers: nginx `proxy_read_timeout 630s;`, Caddy `response_header_timeout 630s`; at a balancer its idle timeout.',
  }
}

/** The first byte is sent at once, so that it comes soon over any network. */
const firstByteMs = 5000

function streamFault(
  { status, headers, piecesMs, endedMs }: Watched,
  holdMs: number,
): Fault | undefined {
  const type = headers['content-type'] ?? ''
  if (status !== 200 || !/^text\/event-stream/i.test(type)) {
    return {
      code: 'stream_refused',
      text: `A stream of events is answered ${status} with ${quoted(type)}: clients ask again and again.`,
      remedy: 'Have the proxy pass GET /mcp with its header Accept as it is.',
    }
  }
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding !== 'identity') {
    return {
      code: 'stream_compressed',
      text: `Streams of events are compressed (${quoted(encoding)}), which holds them back.`,
      remedy: 'Leave text/event-stream out: nginx `gzip off;`, Caddy no `encode` for it.',
    }
  }
  if (endedMs !== undefined && endedMs < holdMs) return cutStream(endedMs)
  const [first, second] = piecesMs
  if (first === undefined || first > firstByteMs) return buffered(0)
  // nginx passes what came along with the head, and holds back all that follows.
  return second === undefined ? buffered(holdMs) : undefined
}

const webOrigins = ['https://claude.ai', 'https://chatgpt.com']

/** Their makers’ machines send no Origin; a page in a browser does. */
async function webPages({ line, target, key, found }: Use): Promise<void> {
  const refused: string[] = []
  for (const origin of webOrigins) {
    const ask: Ask = post(target, { method: 'ping' }, { ...bearer(key), origin })
    const told = await line.ask(ask)
    if (isSilent(told) || told.status !== 403) continue
    const broken = brokenAnswer(ask, told)
    if (broken !== undefined) return void found.faults.push(broken)
    refused.push(origin)
  }
  if (refused.length === 0) return void found.works.push('web pages of Claude and ChatGPT may call')
  const list = refused.join(', ')
  found.notes.push(
    `Web pages of ${list} may not call the tool server; their connectors, which call from servers, may. Set allowed_origins: [${list}] in gateway.yaml where pages are to.`,
  )
}

/** The words of a refusal of the tool server. */
function messageIn(answer: Answer): string {
  const error = readObject(answer)?.['error'] as { message?: unknown } | undefined
  return error?.message === undefined ? '' : `: ${quoted(error.message)}`
}
