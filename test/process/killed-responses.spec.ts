import { join } from 'node:path'
import { expect } from 'chai'
import { chanceFrom } from '../support/chance.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { printedKey, startServer, type ServerProcess } from '../support/server-process.ts'

const seed = 20_261_127
const rounds = 4
const callers = 16
const completedMax = 60
const idleMs = 20_000

/** Identifiers of responses that began, of those whose last event arrived, and of those in the background. */
type Seen = { begun: Set<string>; completed: Set<string>; background: Set<string> }

describe(`a server that is killed ${rounds} times while it stores responses`, () => {
  const chance = chanceFrom(seed)
  const seen: Seen = { begun: new Set(), completed: new Set(), background: new Set() }
  let folder: TemporaryFolder
  let server: ServerProcess
  let key: string
  const start = () =>
    startServer({
      folder: folder.path,
      variables: { DATA_DIR: join(folder.path, 'data'), LOG_LEVEL: 'silent' },
    })

  before(async function () {
    folder = makeFolder()
    for (let round = 0; round < rounds; round++) {
      server = await start()
      key ??= printedKey(server)!
      let hasEnded = false
      const ended = server.ended.then(() => (hasEnded = true))
      const most = seen.completed.size + 1 + chance.below(completedMax)
      const ask = async (caller: number) => {
        for (let turn = 0; ; turn++) {
          const name = `${round} ${caller} ${turn}`
          await begin(name).catch(() => undefined)
          await readStream(name).catch(() => undefined)
          if (hasEnded) return
          if (seen.completed.size >= most) server.kill('SIGKILL')
        }
      }
      await Promise.all([ended, ...Array.from({ length: callers }, (_, at) => ask(at))])
    }
    server = await start()
  })
  after(async () => {
    server.kill('SIGTERM')
    await server.ended
    folder.remove()
  })

  const post = (name: string, more: object) =>
    fetch(`${server.url}/v1/responses`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: JSON.stringify({ model: 'gpt-5-mini', input: `Call ${name}`, ...more }),
      signal: AbortSignal.timeout(idleMs),
    })

  async function begin(name: string): Promise<void> {
    const response = await post(name, { background: true })
    const { id } = (await response.json()) as { id?: string }
    if (id !== undefined) seen.background.add(id)
  }

  async function readStream(name: string): Promise<void> {
    const response = await post(name, { stream: true })
    let text = ''
    for await (const piece of response.body!) {
      text += Buffer.from(piece).toString()
      const [, id] = /"response":\{"id":"(resp_\w+)"/.exec(text) ?? []
      if (id === undefined) continue
      seen.begun.add(id)
      if (/^event: response\.completed\n.*\n\n/m.test(text)) seen.completed.add(id)
    }
  }

  it('has every response whose last event arrived, and no incomplete one', async () => {
    expect(seen.completed.size).to.be.greaterThan(rounds)
    const statuses = { stored: 0, absent: 0 }
    for (const id of seen.begun) {
      const response = await fetch(`${server.url}/v1/responses/${id}`, {
        headers: { authorization: `Bearer ${key}` },
      })
      const body = (await response.json()) as { status?: string }
      if (seen.completed.has(id)) expect(response.status, id).to.equal(200)
      if (response.status === 200) {
        statuses.stored++
        expect(body.status).to.equal('completed')
      } else {
        statuses.absent++
        expect(response.status).to.equal(404)
      }
    }
    process.stdout.write(
      `      ${seen.begun.size} begun, ${seen.completed.size} completed, ` +
        `${statuses.stored} stored, ${statuses.absent} absent (seed ${seed})\n`,
    )
    expect(statuses.absent).to.be.greaterThan(0)
  })

  it('has every response in the background that was answered, whole or in progress', async () => {
    const statuses: Record<string, number> = { completed: 0, in_progress: 0 }
    for (const id of seen.background) {
      const response = await fetch(`${server.url}/v1/responses/${id}`, {
        headers: { authorization: `Bearer ${key}` },
      })
      expect(response.status, id).to.equal(200)
      const { status, output } = (await response.json()) as { status: string; output: unknown[] }
      expect(output).to.have.length(status === 'completed' ? 1 : 0)
      expect(status).to.be.oneOf(Object.keys(statuses))
      statuses[status]!++
    }
    process.stdout.write(`      ${JSON.stringify(statuses)}\n`)
    expect(statuses['completed']).to.be.greaterThan(0)
  })
})
