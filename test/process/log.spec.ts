import { join } from 'node:path'
import { expect } from 'chai'
import { runCommand } from '../support/command-line.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { printedKey, startServer, type ServerProcess } from '../support/server-process.ts'
import { until } from '../support/until.ts'

describe('the log of a running server', () => {
  let folder: TemporaryFolder
  let server: ServerProcess
  beforeEach(async () => {
    folder = makeFolder()
    server = await startServer({ folder: folder.path, variables: { LOG_LEVEL: 'info' } })
  })
  afterEach(async () => {
    server.kill('SIGKILL')
    await server.ended
    folder.remove()
  })

  type Line = { time: string; msg: string; path?: string; status?: number; model?: string }
  const lines = () =>
    server
      .stderr()
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Line)
  const requests = () => lines().filter(({ msg }) => msg.startsWith('request'))
  const ask = async (path: string) => {
    const headers = { authorization: `Bearer ${printedKey(server)}` }
    await (await fetch(server.url + path, { headers })).arrayBuffer()
  }

  it('has the line of a request soon, even if no other follows', async () => {
    await ask('/v1/models')
    await until('the line is logged', () => requests().length === 1)
    expect(requests()[0]).to.include({ path: '/v1/models', status: 200 })
  })

  it('has JSON lines of what libraries print', async () => {
    // The first request to the authorization server loads oidc-provider, which warns of this release of Node.
    await ask('/oauth/jwks')
    await until('the line is logged', () => requests().length === 1)
    expect(lines().filter(({ msg }) => msg === 'printed by a library')).to.have.length(1)
  })

  it('has every line in order and with its own time, including the last ones', async () => {
    const from = new Date().toISOString()
    for (let count = 0; count < 120; count += 1) await ask(count === 60 ? '/none' : '/v1/models')
    server.kill('SIGTERM')
    await server.ended
    expect(requests()).to.have.length(120)
    expect(requests().findIndex(({ status }) => status === 404)).to.equal(60)
    const times = lines().map(({ time }) => time)
    expect(times).to.deep.equal(times.toSorted())
    expect(requests()[0]!.time >= from).to.equal(true)
    expect(new Set(requests().map(({ time }) => time))).to.have.length.above(20)
    expect(lines().at(-1)!.msg).to.equal('stopped')
  })

  const chat = async (body: object) => {
    const answer = await fetch(`${server.url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${printedKey(server)}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ messages: [{ role: 'user', content: 'hi' }], ...body }),
    })
    await answer.arrayBuffer()
  }

  it('has the model, provider, tokens, cost and cache of a call in the line of its request', async () => {
    await chat({ model: 'GPT-5.4-mini' })
    await chat({ model: 'GPT-5.4-mini' })
    await chat({ model: 'gpt-5.4-mini', stream: true })
    await until('the lines are logged', () => requests().length === 3)
    const [first, second, streamed] = requests()
    const model = 'gpt-5.4-mini'
    const of = { model, provider: 'sandbox' }
    expect(first).to.include({ ...of, cache: 'miss', stream: false, attempts: 'sandbox=ok' })
    expect(second)
      .to.include({ model, cache: 'hit', costUsd: 0 })
      .and.to.not.have.property('provider')
    expect(streamed)
      .to.include({ ...of, stream: true })
      .and.to.have.property('outputTokens')
      .that.is.above(0)
  })

  it('has the routes and each attempt with LOG_LEVEL=debug, and is text with LOG_FORMAT=text', async () => {
    server.kill('SIGTERM')
    await server.ended
    const variables = { LOG_LEVEL: 'debug', LOG_FORMAT: 'text' }
    server = await startServer({ folder: folder.path, variables })
    const made = await runCommand(['keys', 'create', '--mode', 'test', '--name', 'mine'], {
      DATA_DIR: join(folder.path, 'data'),
    })
    await fetch(`${server.url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${made.stdout.trim()}`,
        'content-type': 'application/json',
      },
      body: '{"model":"gpt-5.4-mini","messages":[{"role":"user","content":"hi"}]}',
    })
    const time = String.raw`^\d\d:\d\d:\d\d\.\d{3} `
    const has = (rest: string) => new RegExp(time + rest, 'm').test(server.stderr())
    await until('the line is logged', () => has('INFO  request requestId=req_'))
    expect(has(String.raw`INFO  listening address=\S+ providers=\[`)).to.equal(true)
    expect(has(String.raw`DEBUG routes requestId=\S+ routes=\["sandbox/gpt-5\.4-mini"\]`)).to.equal(
      true,
    )
    expect(
      has(String.raw`DEBUG attempt ended requestId=\S+ provider=sandbox .*outcome=ok startMs=\d+`),
    ).to.equal(true)
  })

  it('has one line with a count for repeated refusals of one cause, without a stack', async () => {
    const words = ['keys', 'create', '--mode', 'live', '--name', 'mine']
    const variables = { DATA_DIR: join(folder.path, 'data') }
    const { stdout: key } = await runCommand(words, variables)
    for (const model of ['gpt-5-mini', 'claude-opus-5', 'gpt-5-mini', 'gpt-5-mini']) {
      const answer = await fetch(`${server.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key.trim()}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hi' }] }),
      })
      const { error } = (await answer.json()) as { error: { message: string } }
      expect(answer.status).to.equal(503)
      expect(error.message).to.include('reloads .env on SIGHUP').and.to.include('dashboard')
    }
    server.kill('SIGTERM')
    await server.ended
    expect(requests().map(({ status }) => status)).to.deep.equal([503, 503])
    const counts = lines().filter(({ msg }) => msg === 'refused again')
    expect(counts).to.have.length(1)
    expect(counts[0]).to.include({ level: 'warn', code: 'no_provider_configured', count: 2 })
    expect(server.stderr()).to.not.include('"stack"').and.to.not.include('"level":"error"')
  })
})
