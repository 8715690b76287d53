import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import type { components } from '../../generated/types.ts'
import { runCommand } from '../support/command-line.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { openMessageStream } from '../support/message-stream.ts'
import { startServer, type ServerProcess } from '../support/server-process.ts'
import { until } from '../support/until.ts'

type MadeKey = components['schemas']['CreatedApiKey']

/** The documented limit for open streams and changes, with default settings. */
const endsWithinMs = 2000

describe('a key of a running server', () => {
  let folder: TemporaryFolder
  let server: ServerProcess
  let admin: string
  const run = async (...words: string[]) => {
    const variables = { DATA_DIR: join(folder.path, 'data') }
    const { code, stdout, stderr } = await runCommand(words, variables)
    expect(code, stderr).to.equal(0)
    return stdout.trim()
  }
  before(async () => {
    folder = makeFolder()
    server = await startServer({ folder: folder.path })
    admin = await run('keys', 'create', '--mode', 'test', '--name', 'admin', '--scopes', 'admin')
  })
  after(async () => {
    server.kill('SIGKILL')
    await server.ended
    folder.remove()
  })

  type Init = { method?: string; headers?: Record<string, string>; body?: string }
  const call = (path: string, key: string, { headers = {}, ...init }: Init = {}) =>
    fetch(server.url + path, { ...init, headers: { authorization: `Bearer ${key}`, ...headers } })
  const send = (method: string, path: string, body: object, key = admin) =>
    call(path, key, {
      method,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  const newKey = async () =>
    (await (await send('POST', '/api/keys', { name: 'x', mode: 'test' })).json()) as MadeKey
  const chat = (key: string, text: string, more: object = {}) => {
    const messages = [{ role: 'user', content: text }]
    return send('POST', '/v1/chat/completions', { model: 'gpt-5-mini', messages, ...more }, key)
  }
  /** Opens a slow chat and an event stream; returns a function that waits until both have ended. */
  const openStreams = async (key: string) => {
    const slow = await openMessageStream(() =>
      chat(key, 'sandbox:slow-stream=500', { stream: true }),
    )
    const accept = { accept: 'text/event-stream' }
    const events = await openMessageStream(() => call('/mcp', key, { headers: accept }))
    expect([slow.response.status, events.response.status]).to.deep.equal([200, 200])
    await until('the chat runs', () => slow.text().includes('data: '))
    return async () => {
      await Promise.all([slow.ended, events.ended])
      return { at: Date.now(), last: slow.messages().at(-1)?.error as { code?: unknown } }
    }
  }

  const endings: [name: string, code: string, end: (id: string) => Promise<number>][] = [
    [
      'is revoked under /api',
      'invalid_api_key',
      async (id) => {
        expect((await send('DELETE', `/api/keys/${id}`, {})).status).to.equal(200)
        return Date.now()
      },
    ],
    [
      'is revoked by a command',
      'invalid_api_key',
      async (id) => {
        await run('keys', 'revoke', id)
        return Date.now()
      },
    ],
    [
      'is replaced without an overlap',
      'expired_api_key',
      async (id) => {
        const answer = await send('POST', `/api/keys/${id}/rotate`, { overlap_minutes: 0 })
        expect(answer.status).to.equal(201)
        return Date.now()
      },
    ],
    [
      'expires',
      'expired_api_key',
      async (id) => {
        const end = Date.now() + 1000
        await send('PATCH', `/api/keys/${id}`, { expires_at: new Date(end).toISOString() })
        await sleep(end - Date.now())
        return end
      },
    ],
  ]
  for (const [name, code, end] of endings) {
    it(`ends with its streams when it ${name}`, async () => {
      const { id, key } = await newKey()
      const ended = await openStreams(key)
      const from = await end(id)
      const { at, last } = await ended()
      expect(last.code).to.equal(code)
      expect(at - from).to.be.below(endsWithinMs)
      await until('calls are refused', async () => (await call('/v1/models', key)).status === 401)
      expect(Date.now() - from).to.be.below(endsWithinMs)
    })
  }

  it('gets changed permissions within a second', async () => {
    const { id, key } = await newKey()
    let asked = 0
    const changes: [settings: object, status: number][] = [
      [{ limits: { requests_per_minute: 0 }, scopes: ['usage:read'] }, 403],
      [{ scopes: ['inference'] }, 429],
      [{ limits: { requests_per_minute: null } }, 200],
    ]
    for (const [settings, status] of changes) {
      const from = Date.now()
      expect((await send('PATCH', `/api/keys/${id}`, settings)).status).to.equal(200)
      await until(`calls are ${status}`, async () => {
        return (await chat(key, `hello ${asked++}`)).status === status
      })
      expect(Date.now() - from).to.be.below(endsWithinMs)
    }
  })
})
