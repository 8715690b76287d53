import { join } from 'node:path'
import { expect } from 'chai'
import { readEvents } from '../support/event-stream.ts'
import { runCommand } from '../support/command-line.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { openMessageStream } from '../support/message-stream.ts'
import { runProgram } from '../support/program.ts'
import { startServer, type ServerProcess } from '../support/server-process.ts'
import { programPath } from '../support/program-path.ts'
import { sharedPostgres } from '../support/servers/postgres.ts'
import { startRedis, type TestRedis } from '../support/servers/redis.ts'
import { until } from '../support/until.ts'

/** The documented limit for ending a revoked key on all replicas. */
const promisedMs = 2000

describe('two replicas on one PostgreSQL and one Redis', () => {
  let folder: TemporaryFolder
  let redis: TestRedis
  let variables: Record<string, string>
  let a: ServerProcess
  let b: ServerProcess
  let admin: string
  before(async function () {
    programPath('redis-server', this)
    programPath('postgres', this)
    folder = makeFolder()
    redis = await startRedis()
    const database = await (await sharedPostgres()).createDatabase()
    variables = { DATABASE_URL: database, REDIS_URL: redis.url }
    const start = (name: string) =>
      startServer({
        folder: folder.path,
        variables: { ...variables, DATA_DIR: join(folder.path, name) },
      })
    a = await start('a')
    b = await start('b')
    admin = await run('keys', 'create', '--mode', 'test', '--name', 'x', '--scopes', 'admin')
  })
  after(async () => {
    for (const server of [a, b]) {
      server?.kill('SIGKILL')
      await server?.ended
    }
    await redis?.stop()
    folder?.remove()
  })

  const run = async (...words: string[]) => {
    const own = { ...variables, DATA_DIR: join(folder.path, 'command') }
    const { code, stdout, stderr } = await runCommand(words, own)
    expect(code, stderr).to.equal(0)
    expect(stderr).to.equal('')
    return stdout.trim()
  }
  const send = (server: ServerProcess, method: string, path: string, body: object, key = admin) =>
    fetch(server.url + path, {
      method,
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: JSON.stringify(body),
    })
  const newKey = async () => {
    const made = await send(a, 'POST', '/api/keys', { name: 'x', mode: 'test' })
    return (await made.json()) as { id: string; key: string }
  }
  /** Opens a slow stream at the second replica. */
  const openStream = async (key: string) => {
    const messages = [{ role: 'user', content: 'sandbox:slow-stream=500' }]
    const asked = { model: 'gpt-5-mini', messages, stream: true }
    const stream = await openMessageStream(() =>
      send(b, 'POST', '/v1/chat/completions', asked, key),
    )
    await until('the stream has begun', () => stream.text().includes('data: '))
    return stream
  }

  const endings: [by: string, end: (id: string) => Promise<unknown>][] = [
    ['under /api at the other', (id) => send(a, 'DELETE', `/api/keys/${id}`, {})],
    ['by a command', (id) => run('keys', 'revoke', id)],
  ]
  for (const [by, end] of endings) {
    it(`end a stream of one replica when its key is revoked ${by}`, async () => {
      const { id, key } = await newKey()
      const stream = await openStream(key)
      await end(id)
      const from = performance.now()
      await stream.ended
      expect(performance.now() - from).to.be.below(promisedMs)
      const last = JSON.parse(readEvents(stream.text()).at(-1)!.data!) as object
      expect(last).to.have.nested.property('error.code', 'invalid_api_key')
      const again = await send(b, 'POST', '/v1/chat/completions', {}, key)
      expect(again.status).to.equal(401)
    })
  }

  it('are described by doctor, with the use of Redis', async () => {
    const text = await run('doctor')
    expect(text).to.match(/^Redis +127\.0\.0\.1:\d+\/0 answers in \d+ ms, version .+ limits, /m)
    expect(text).to.match(/^Workers +1 process/m)
  })

  it('do not start with a wrong Redis password', async () => {
    const guarded = await startRedis(['--requirepass', 'sesame'])
    const wrong = { ...variables, REDIS_URL: guarded.url.replace('//', '//:guess-word@') }
    const options = { folder: folder.path, variables: { ...wrong, PORT: '0' } }
    const { code, stderr } = await runProgram('src/main.ts', [], options)
    await guarded.stop()
    expect(code).to.equal(1)
    expect(stderr).to.match(/cannot start: Redis at \S+ cannot be used: user or password is wrong/)
    expect(stderr).to.not.include('guess-word')
  })
})
