import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect } from 'chai'
import { stringify } from 'yaml'
import { readText } from '../support/event-stream.ts'
import { runCommand } from '../support/command-line.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { readLedger } from '../support/ledger-file.ts'
import { printedKey, startServer, type ServerProcess } from '../support/server-process.ts'
import { until } from '../support/until.ts'

describe('a stop signal', () => {
  let folder: TemporaryFolder
  let upstream: GatedUpstream
  let server: ServerProcess | undefined
  beforeEach(async () => {
    folder = makeFolder()
    upstream = await startGatedUpstream()
  })
  afterEach(async () => {
    server?.kill('SIGKILL')
    await server?.ended
    upstream.stop()
    folder.remove()
  })

  /** Starts a server whose only provider keeps streams open, and requests a stream. */
  async function openStream(limits: object = {}, logLevel = 'warn') {
    const configFile = join(folder.path, 'gateway.yaml')
    const own = { id: 'own', kind: 'openai-compatible', base_url: upstream.url, models: '*' }
    writeFileSync(configFile, stringify({ providers: [own], limits }))
    const variables = { CONFIG_FILE: configFile, LOG_LEVEL: logLevel }
    server = await startServer({ folder: folder.path, variables })
    const words = ['keys', 'create', '--mode', 'live', '--name', 'streams']
    const { stdout: key } = await runCommand(words, {
      DATA_DIR: join(folder.path, 'data'),
    })
    const messages = [{ role: 'user', content: 'hello' }]
    const response = await fetch(`${server.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key.trim()}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'own/any', stream: true, messages }),
    })
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
    const first = await reader.read()
    const rest = async () => {
      let text = first.value ?? ''
      for (let piece = await reader.read(); !piece.done; piece = await reader.read())
        text += piece.value
      return text
    }
    return { server, rest, requestId: response.headers.get('x-request-id') }
  }

  it('lets an open stream finish, accepts no new connection, and exits with 0', async () => {
    const { server, rest, requestId } = await openStream({}, 'info')
    server.kill('SIGTERM')
    await until('new connections are refused', () => refusesCallers(server.url))
    upstream.open()
    const text = await rest()
    const { code, stderr } = await server.ended
    const lines = stderr.trim().split('\n')
    const log = lines.map((line) => JSON.parse(line) as { msg: string })
    expect(readText(text)).to.equal('Hello')
    expect(text.trimEnd().endsWith('data: [DONE]')).to.equal(true)
    expect(code).to.equal(0)
    expect(log.map(({ msg }) => msg).slice(-3)).to.deep.equal(['draining', 'request', 'stopped'])
    const { rows } = readLedger(join(folder.path, 'data'))
    expect(rows.map(({ id, outcome }) => ({ id, outcome }))).to.deep.equal([
      { id: requestId, outcome: 'ok' },
    ])
  })

  it('cuts calls that exceed the limit, records them, and exits with 0', async () => {
    const { server, rest } = await openStream({ drain_timeout_ms: 200 })
    server.kill('SIGTERM')
    const outcome = await rest().then(
      () => 'whole',
      () => 'cut',
    )
    const { code, stderr } = await server.ended
    expect({ outcome, code, stderr }).to.deep.equal({ outcome: 'cut', code: 0, stderr: '' })
    const { rows } = readLedger(join(folder.path, 'data'))
    expect(rows.map(({ outcome }) => outcome)).to.deep.equal(['cancelled'])
  })

  it('reaches the server through npm start, and frees its port', async () => {
    server = await startServer({ folder: folder.path, npm: true })
    const { url, ended } = server
    const headers = { authorization: `Bearer ${printedKey(server)}` }
    const response = await fetch(`${url}/v1/models`, { headers })
    server.kill('SIGTERM')
    const { code, signal } = await ended
    expect(response.status).to.equal(200)
    expect({ code, signal }).to.deep.equal({ code: 0, signal: null })
    const next = createServer().listen(Number(new URL(url).port), '127.0.0.1')
    await once(next, 'listening')
    next.close()
  })

  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    it(`ends an idle server at once on ${signal}`, async () => {
      server = await startServer({ folder: folder.path })
      await fetch(`${server.url}/health`)
      const askedAt = performance.now()
      server.kill(signal)
      const { code } = await server.ended
      expect(code).to.equal(0)
      expect(performance.now() - askedAt).to.be.below(5000)
    })
  }
})

type GatedUpstream = { url: string; open: () => void; stop: () => void }

/** Streams `Hel` at once, and `lo` when the gate is opened. */
async function startGatedUpstream(): Promise<GatedUpstream> {
  const gate = Promise.withResolvers<void>()
  const event = (content: string, finish: string | null) => {
    const choices = [{ index: 0, delta: { content }, finish_reason: finish }]
    const chunk = { id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'any', choices }
    return `data: ${JSON.stringify(chunk)}\n\n`
  }
  const server = createServer((request, response) => {
    request.resume()
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(event('Hel', null))
    void gate.promise.then(() => response.end(`${event('lo', 'stop')}data: [DONE]\n\n`))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    open: gate.resolve,
    stop: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

function refusesCallers(url: string): Promise<boolean> {
  return fetch(`${url}/health`, { headers: { connection: 'close' } }).then(
    () => false,
    () => true,
  )
}
