import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { readLedger } from '../support/ledger-file.ts'
import { printedKey, startServer, type ServerProcess } from '../support/server-process.ts'
import { until } from '../support/until.ts'

const picture = { model: 'zai/cogview-4', prompt: 'a fox', size: '512x512' }
const chat = { model: 'gpt-5-mini', messages: [{ role: 'user', content: 'Say hello.' }] }
const slowly = 'sandbox:delay=20000'
const slow = {
  picture: { ...picture, prompt: slowly },
  chat: { ...chat, messages: [{ role: 'user', content: slowly }] },
}

describe('idempotency keys of a server that is stopped or killed', () => {
  let folder: TemporaryFolder
  let dataDir: string
  let server: ServerProcess
  let key: string
  const start = async (variables = {}) => {
    const own = { DATA_DIR: dataDir, LOG_LEVEL: 'silent', ...variables }
    server = await startServer({ folder: folder.path, variables: own })
    key ??= printedKey(server)!
  }
  before(async () => {
    folder = makeFolder()
    dataDir = join(folder.path, 'data')
    await start()
  })
  after(async () => {
    server.kill('SIGKILL')
    await server.ended
    folder.remove()
  })
  const ask = (path: string, body: object, name: string, more: Record<string, string> = {}) =>
    fetch(server.url + path, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'idempotency-key': name,
        'cache-control': 'no-store',
        ...more,
      },
      body: JSON.stringify(body),
    })
  const restart = async (signal: 'SIGTERM' | 'SIGKILL') => {
    server.kill(signal)
    await server.ended
    await start()
  }
  const rowOf = (id: string | null) => readLedger(dataDir).rows.filter((row) => row.id === id)

  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    it(`replay their answer after ${signal}`, async () => {
      const given: [string, object][] = [
        ['/v1/images/generations', picture],
        ['/v1/chat/completions', chat],
        ['/v1/chat/completions', { ...chat, stream: true }],
      ]
      const before: { text: string; id: string | null }[] = []
      for (const [index, [path, body]] of given.entries()) {
        const response = await ask(path, body, `${signal}-${index}`)
        expect(response.status).to.equal(200)
        before.push({ text: await response.text(), id: response.headers.get('x-request-id') })
      }
      const rows = readLedger(dataDir).rows.length
      await restart(signal)
      for (const [index, [path, body]] of given.entries()) {
        const response = await ask(path, body, `${signal}-${index}`)
        expect(response.headers.get('idempotent-replayed')).to.equal('true')
        const { text, id } = before[index]!
        expect(await response.text()).to.equal(text)
        expect(response.headers.get('x-request-id')).to.equal(id)
        expect(rowOf(id)).to.have.length(1)
      }
      expect(readLedger(dataDir).rows.length).to.equal(rows)
    })
  }

  it('do not repeat an interrupted image call, and report it', async () => {
    const cut = ask('/v1/images/generations', slow.picture, 'cut-picture').catch(() => 'cut')
    await inWork()
    await restart('SIGKILL')
    expect(await cut).to.equal('cut')
    for (let time = 0; time < 2; time++) {
      const response = await ask('/v1/images/generations', slow.picture, 'cut-picture')
      expect(response.status).to.equal(502)
      expect(response.headers.get('x-should-retry')).to.equal('false')
      expect(await response.text()).to.match(/stopped while it made this picture.*allow-repeat/)
      const rows = rowOf(response.headers.get('x-request-id'))
      expect(rows.map(({ outcome }) => outcome)).to.deep.equal(['unknown'])
    }
    const allowed = { 'x-gateway-allow-repeat': 'true' }
    void ask('/v1/images/generations', slow.picture, 'cut-picture', allowed).catch(() => undefined)
    await inWork()
  })

  it('repeat an interrupted chat call', async () => {
    void ask('/v1/chat/completions', slow.chat, 'cut-chat').catch(() => undefined)
    await inWork()
    await restart('SIGKILL')
    void ask('/v1/chat/completions', slow.chat, 'cut-chat').catch(() => undefined)
    await inWork()
  })

  const seen = new Set<unknown>()
  /** Resolves when a request that the test has not seen before is in progress. */
  const inWork = () =>
    until('a request is in progress', () => {
      const database = new DatabaseSync(join(dataDir, 'gateway.db'), { readOnly: true })
      const select = "SELECT id FROM idempotent_answers WHERE state = 'in_progress'"
      const ids = database.prepare(select).all()
      database.close()
      const further = ids.filter(({ id }) => !seen.has(id))
      for (const { id } of further) seen.add(id)
      return further.length > 0
    })
})
