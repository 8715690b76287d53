import { expect } from 'chai'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { printedKey, startServer, type ServerProcess } from '../support/server-process.ts'
import { until } from '../support/until.ts'
import { programPath } from '../support/program-path.ts'
import { workersOf, workerVariables } from '../support/worker-processes.ts'

const picture = { model: 'zai/cogview-4', prompt: 'a fox', size: '512x512' }
const slowly = (ms: number) => ({ ...picture, prompt: `sandbox:delay=${ms}` })

describe('idempotency keys at several workers', () => {
  let folder: TemporaryFolder
  let server: ServerProcess
  let key: string
  before(async function () {
    programPath('redis-server', this)
    folder = makeFolder()
    server = await startServer({
      folder: folder.path,
      variables: await workerVariables(),
    })
    await until('both workers answer', () => workersOf(server).length === 2)
    key = printedKey(server)!
  })
  after(async () => {
    server?.kill('SIGKILL')
    await server?.ended
    folder.remove()
  })
  /** Each request uses a new connection, which the operating system gives to any of the workers. */
  const ask = (body: object, name: string) =>
    fetch(`${server.url}/v1/images/generations`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'idempotency-key': name,
        'cache-control': 'no-store',
        connection: 'close',
      },
      body: JSON.stringify(body),
    })
  /** Sends so many requests that both workers are used, except in one of 32,000 runs. */
  const askBoth = (body: object, name: string) =>
    Promise.all(Array.from({ length: 16 }, () => ask(body, name)))

  /** Sends a request twice at once. One is refused with 409; returns the answer of the other request. */
  const startOne = async (body: object, name: string) => {
    const both = [ask(body, name), ask(body, name)]
    for (const one of both) one.catch(() => undefined)
    const [refused, index] = await Promise.race(
      both.map(async (one, index) => [await one, index] as const),
    )
    expect(refused.status).to.equal(409)
    return { answer: both[1 - index]! }
  }

  it('are in use at both workers during a call, and replay the same answer at both afterwards', async () => {
    const { answer } = await startOne(slowly(3000), 'slow')
    for (const response of await askBoth(slowly(3000), 'slow')) {
      expect(response.status).to.equal(409)
      expect(await response.json()).to.have.nested.property('error.code', 'idempotency_key_in_use')
    }
    const answered = await answer
    expect(answered.status).to.equal(200)
    const text = await answered.text()
    for (const response of await askBoth(slowly(3000), 'slow')) {
      expect(response.headers.get('idempotent-replayed')).to.equal('true')
      expect(response.headers.get('x-request-id')).to.equal(answered.headers.get('x-request-id'))
      expect(await response.text()).to.equal(text)
    }
  })

  it('let exactly one of many concurrent requests run', async () => {
    const answers = await Promise.all(Array.from({ length: 12 }, () => ask(slowly(1500), 'many')))
    const statuses = answers.map(({ status }) => status)
    expect(statuses).to.have.members([200, ...Array<number>(11).fill(409)])
  })

  it('of a killed worker make the others report that an image may have been charged', async () => {
    const { answer } = await startOne(slowly(20_000), 'cut')
    let isCut = false
    answer.catch(() => (isCut = true))
    for (const { pid } of workersOf(server)) {
      if (isCut) break
      process.kill(pid, 'SIGKILL')
      await until('a new worker answers', () => {
        const now = workersOf(server)
        return now.length === 2 && now.every((one) => one.pid !== pid)
      })
    }
    expect(isCut).to.equal(true)
    for (let count = 0; count < 4; count++) {
      const response = await ask(slowly(20_000), 'cut')
      expect(response.status).to.equal(502)
      expect(await response.json()).to.have.nested.property('error.code')
    }
  })
})
