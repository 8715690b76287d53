import { expect } from 'chai'
import { completion } from '../support/chat-answers.ts'
import { runIn } from '../support/each-store.ts'
import { prepareGateways, type GatewayProcesses } from '../support/gateway-processes.ts'
import { programPath } from '../support/program-path.ts'
import type { ServerProcess } from '../support/server-process.ts'
import { startPostgres, type TestPostgres } from '../support/servers/postgres.ts'
import { until } from '../support/until.ts'
import { loggedLines, workersOf, workerVariables } from '../support/worker-processes.ts'

describe('rows in the journals of workers', () => {
  let gateways: GatewayProcesses | undefined
  let postgres: TestPostgres
  let server: ServerProcess | undefined
  before(async function () {
    programPath('postgres', this)
    programPath('redis-server', this)
    postgres = await startPostgres()
  })
  after(() => postgres.stop())
  afterEach(() => gateways?.stop())

  const killOne = async () => {
    const [first] = workersOf(server!)
    process.kill(first!.pid, 'SIGKILL')
    const isThere = () => workersOf(server!).some(({ pid }) => pid === first!.pid)
    await until('the end of the process is noticed', () => !isThere())
  }
  const killAll = async () => {
    const workers = workersOf(server!)
    server!.kill('SIGKILL')
    for (const { pid } of workers) process.kill(pid, 'SIGKILL')
    await server!.ended
  }
  const cases = [
    { name: 'one worker that is killed', kill: killOne, startsAgain: false },
    {
      name: 'two that are killed with their primary before one is started',
      kill: killAll,
      startsAgain: true,
    },
  ]
  for (const { name, kill, startsAgain } of cases) {
    it(`of ${name} during an outage of PostgreSQL are inserted once, seconds after it`, async () => {
      const url = await postgres.createDatabase()
      const variables = { DATABASE_URL: url, ...(await workerVariables()) }
      gateways = await prepareGateways({ variables })
      const { upstream, post, createKey } = gateways
      const gate = Promise.withResolvers<void>()
      upstream.answer({ ...completion('Hi.'), after: gate.promise })
      server = await gateways.start()
      const now = () => workersOf(server!)
      await until('both workers answer', () => now().length === 2)
      const key = await createKey('any')
      const ask = async () => {
        const answer = await post(server!, key, { headers: { connection: 'close' } })
        return { status: answer.status, id: answer.headers.get('x-request-id') }
      }
      const calls = Array.from({ length: 8 }, ask)
      await until('the provider has all requests', () => upstream.requests.length === 8)
      postgres.kill('SIGKILL')
      // The server's connection processes end a moment later.
      const failed = () => loggedLines(server!).filter(({ msg }) => msg.startsWith('store '))
      await until(
        'both workers have logged a failure',
        () => new Set(failed().map(({ worker }) => worker)).size === 2,
      )
      gate.resolve()
      const answered = await Promise.all(calls)
      expect(answered.map(({ status }) => status)).to.deep.equal(Array(8).fill(200))
      await kill()
      await postgres.restart()
      if (startsAgain) server = await gateways.start('data', { WORKERS: '1' })
      const backAt = performance.now()
      const rows = () => runIn(url, 'select id from usage')
      await until('all rows are inserted', async () => (await rows()).length === 8)
      expect(performance.now() - backAt).to.be.below(5000)
      const recorded = (await rows()).map((row) => (row as { id: string }).id)
      expect(recorded).to.have.members(answered.map(({ id }) => id))
      const recovered = () =>
        loggedLines(server!)
          .filter(({ msg }) => msg.startsWith('store can be written again'))
          .reduce((sum, { rows: moved }) => sum + Number(moved), 0)
      await until('the recovery is logged', () => recovered() === 8)
    })
  }
})
