import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { makeFolder, projectFolder, type TemporaryFolder } from '../support/folder.ts'
import { openConnection, postHead } from '../support/raw-connection.ts'
import { printedKey, startServer, type ServerProcess } from '../support/server-process.ts'
import { until } from '../support/until.ts'

const main = join(projectFolder, 'src/main.ts')

describe('a server', () => {
  let folder: TemporaryFolder
  let server: ServerProcess
  beforeEach(() => (folder = makeFolder()))
  afterEach(async () => {
    server.kill('SIGKILL')
    await server.ended
    folder.remove()
  })

  const health = async () => (await fetch(`${server.url}/health`)).status
  /** Sends a request without its body, for which a drain waits. */
  const openRequest = async () => {
    const socket = await openConnection(server.url)
    const length = { 'content-length': '10' }
    socket.write(postHead('/v1/chat/completions', printedKey(server)!, length))
    // After this answer the server has read everything sent before.
    expect(await health()).to.equal(200)
    return socket
  }

  it('continues at signals that do not stop it, and logs them', async () => {
    server = await startServer({ folder: folder.path })
    for (const signal of ['SIGUSR1', 'SIGUSR2'] as const) {
      server.kill(signal)
      await until(`${signal} is logged`, () => server.stderr().includes(`"signal":"${signal}"`))
    }
    server.kill('SIGPIPE')
    expect(await health()).to.equal(200)
    expect(server.stderr()).to.not.contain('Debugger')
  })

  it('reloads gateway.yaml and .env at SIGHUP, and keeps the old settings if the new ones are invalid', async () => {
    const file = join(folder.path, 'gateway.yaml')
    const variables = { CONFIG_FILE: file, LOG_LEVEL: 'info' }
    writeFileSync(file, 'limits: { route_tries_max: 3 }\n')
    server = await startServer({ folder: folder.path, variables })
    const hangUp = async (text: string) => {
      server.kill('SIGHUP')
      await until(`it is logged: ${text}`, () => server.stderr().includes(text))
    }
    writeFileSync(file, 'port: 1\naliases: { fast: gpt-5-mini }\n')
    writeFileSync(join(folder.path, '.env'), 'OPENAI_API_KEY=sk-any-0123456789abcdefghij\n')
    await hangUp('"changed":["aliases","limits.route_tries_max","OPENAI_API_KEY"]')
    writeFileSync(file, 'aliases: 7\n')
    await hangUp('"msg":"reload failed"')
    expect(server.stderr()).to.contain('aliases must be a table of names and values')
    const key = { authorization: `Bearer ${printedKey(server)}` }
    const answer = await fetch(`${server.url}/v1/models/fast`, { headers: key })
    expect(await answer.json()).to.include({ id: 'fast', alias_of: 'gpt-5-mini' })
    expect(server.stderr()).to.not.contain('sk-any')
  })

  for (const [signal, code] of [
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const) {
    it(`ends at once at a second signal, ${signal}, with ${code}`, async () => {
      server = await startServer({ folder: folder.path, variables: { LOG_LEVEL: 'info' } })
      const socket = await openRequest()
      server.kill('SIGTERM')
      await until('the server drains', () => server.stderr().includes('"draining"'))
      server.kill(signal)
      expect((await server.ended).code).to.equal(code)
      socket.destroy()
    })
  }

  it('finishes calls in progress before it exits after an uncaught exception', async () => {
    const bug = 'process.on("SIGWINCH", () => Promise.reject(new Error("a bug")))'
    const words = ['--import', `data:text/javascript,${bug}`]
    server = await startServer({ folder: folder.path, words })
    const socket = await openConnection(server.url)
    let answer = ''
    socket.on('data', (piece: Buffer) => (answer += piece.toString()))
    const body = '{"model":"gpt-5-mini","messages":[{"role":"user","content":"hello"}]}'
    const length = { 'content-length': String(body.length) }
    socket.write(postHead('/v1/chat/completions', printedKey(server)!, length))
    expect(await health()).to.equal(200)
    server.kill('SIGWINCH')
    await until('the crash is logged', () => server.stderr().includes('"msg":"crashed"'))
    socket.write(body)
    const { code, stderr } = await server.ended
    expect(code).to.equal(1)
    expect(answer).to.match(/^HTTP\/1\.1 200 /)
    expect(stderr).to.match(/"level":"fatal".*"message":"a bug".*"msg":"crashed"/)
  })

  it('works and exits although its log is not read', async () => {
    const shell = [
      '-c',
      'exec "$0" "$1" 2> >(exec sleep 60 > /dev/null 2>&1)',
      process.execPath,
      main,
    ]
    const variables = { LOG_LEVEL: 'info' }
    server = await startServer({ folder: folder.path, variables, command: ['bash', shell] })
    const path = `/none/${'x'.repeat(2000)}`
    // Logs more than 64 KiB, the capacity of a pipe.
    for (let count = 0; count < 100; count++) await (await fetch(server.url + path)).text()
    const askedAt = performance.now()
    server.kill('SIGTERM')
    expect((await server.ended).code).to.equal(0)
    expect(performance.now() - askedAt).to.be.below(8000)
  })

  it('works and exits after the readers of its output have closed', async () => {
    const line = 'exec "$0" "$1" > >(exec head -n 6 >&2) 2> >(exec true)'
    const variables = { LOG_LEVEL: 'info' }
    const shell = ['-c', `{ ${line}; } 2>&1`, process.execPath, main]
    server = await startServer({ folder: folder.path, variables, command: ['bash', shell] })
    for (let count = 0; count < 20; count++) await (await fetch(`${server.url}/none`)).text()
    server.kill('SIGTERM')
    expect((await server.ended).code).to.equal(0)
  })

  it('survives more connections than its limit of open files', async () => {
    const shell = ['-c', 'ulimit -n 300; exec "$0" "$1"', process.execPath, main]
    server = await startServer({ folder: folder.path, command: ['bash', shell] })
    const key = printedKey(server)!
    const sockets = await Promise.all(Array.from({ length: 400 }, () => openConnection(server.url)))
    for (const socket of sockets) socket.write('POST / HTTP/1.1\r\nhost: x\r\n')
    const headers = { authorization: `Bearer ${key}`, connection: 'close' }
    const models = () =>
      fetch(`${server.url}/v1/models`, { headers }).then(
        async (response) => (await response.text()) !== '' && response.ok,
        () => false,
      )
    await until('a caller is answered meanwhile', models)
    for (const socket of sockets) socket.destroy()
    await until('other callers are answered', models)
    server.kill('SIGTERM')
    expect((await server.ended).code).to.equal(0)
  })
})
