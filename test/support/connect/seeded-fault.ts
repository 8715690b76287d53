import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Script } from './scripted-proxy.ts'

/** A fault between a client and the gateway, and the finding that `connect` must report. */
export type SeededFault = {
  wrong: string
  code: string
  /** Sentence that the finding must contain. */
  says: RegExp
  /** Remedy that the finding must contain. */
  remedy: RegExp
  script?: Script
  /** Overrides of the gateway's metadata. */
  server?: object
  resource?: object
  /** The base URL that the gateway announces, given the correct one. */
  baseUrl?: (url: string) => string
  /** How long the event stream is watched, if it does not end by itself. */
  holdMs?: number
  /** Names of the clients that the fault affects; undefined when all clients are affected. */
  whom?: readonly string[]
}

export const onPath = (path: RegExp, change: () => void, { url = '' }: IncomingMessage) => {
  if (path.test(url)) change()
}

/** Answers requests whose path matches `path` with an HTML page. */
export function pageAt(path: RegExp, status: number): Script {
  return {
    instead: ({ url = '' }, response) => {
      if (!path.test(url)) return false
      response.writeHead(status, { 'content-type': 'text/html' }).end('<h1>nginx</h1>')
      return true
    },
  }
}

export function plainAt(
  path: RegExp,
  status: number,
  headers: Record<string, string> = {},
): Script {
  return {
    instead: ({ url = '' }: IncomingMessage, response: ServerResponse) => {
      if (!path.test(url)) return false
      response.writeHead(status, headers).end()
      return true
    },
  }
}

export function withoutHeader(name: string): Script {
  return { request: (headers) => void delete headers[name] }
}

export function withoutAnswerHeader(name: string): Script {
  return { head: ({ headers }) => void delete headers[name] }
}

export function withHeader(path: RegExp, name: string, value: string): Script {
  return {
    head: ({ headers }, request) => onPath(path, () => void (headers[name] = value), request),
  }
}

/** Changes the JSON body of answers to requests whose path matches `path`. */
export function rewritten(path: RegExp, change: (json: Record<string, unknown>) => void): Script {
  return {
    text: (body, { url = '' }) => {
      if (!path.test(url) || body === '') return body
      const json = JSON.parse(body) as Record<string, unknown>
      change(json)
      return JSON.stringify(json)
    },
  }
}

/** Refuses client registrations whose body matches. */
export function refusing(body: RegExp): Script {
  return {
    head: (head, { url }, sent) => {
      if (url === '/oauth/register' && body.test(sent)) head.status = 400
    },
    text: (text, { url }, sent) =>
      url === '/oauth/register' && body.test(sent)
        ? JSON.stringify({ error: 'invalid_redirect_uri', error_description: 'Not this one.' })
        : text,
  }
}

/** The script of a proxy that causes the fault for the gateway at `url`. */
export function scriptOf(fault: SeededFault, url: string): Script {
  const { script = {}, server, resource, baseUrl } = fault
  const other = baseUrl?.(url)
  const changes: readonly [RegExp, object | undefined][] = [
    [/oauth-authorization-server/, server],
    [/oauth-protected-resource/, resource],
  ]
  return {
    ...script,
    head: (head, request, sent) => {
      script.head?.(head, request, sent)
      if (other === undefined) return
      for (const [name, value] of Object.entries(head.headers)) {
        if (typeof value === 'string') head.headers[name] = value.replaceAll(url, other)
      }
    },
    text: (body, request, sent) => {
      let text = script.text?.(body, request, sent) ?? body
      for (const [path, also] of changes) {
        if (also === undefined || text === '' || !path.test(request.url ?? '')) continue
        text = JSON.stringify({ ...(JSON.parse(text) as object), ...also })
      }
      return other === undefined ? text : text.replaceAll(url, other)
    },
  }
}
