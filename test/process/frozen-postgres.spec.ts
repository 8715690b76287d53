import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import pg from 'pg'
import { faultsOf, readLedger } from '../../scripts/chaos/ledger.ts'
import { ask, type Answer } from '../../scripts/chaos/calls.ts'
import { startFleet, type Fleet } from '../../scripts/chaos/fleet.ts'
import { completion } from '../support/chat-answers.ts'
import { programPath } from '../support/program-path.ts'
import { until } from '../support/until.ts'

const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
const queryTimeoutMs = 500
/** PostgreSQL is frozen for longer than a call may wait, even on a busy machine. */
const frozenMs = 9000
const answerTimeoutMs = 8000
const callers = 8

type Timed = Answer & { elapsedMs: number; atMs: number }

describe('two gateways whose PostgreSQL is in trouble', function () {
  let fleet: Fleet
  let key: string
  const answers: Timed[] = []
  before(async function () {
    for (const program of ['postgres', 'redis-server'] as const) programPath(program, this)
    const limits = { database_query_timeout_ms: queryTimeoutMs }
    fleet = await startFleet({ workers: false, limits })
    fleet.upstream.answer({ ...completion('Yes.', { usage }), delayMs: 5 })
    key = await fleet.createKey(['--budget-usd', '1000', '--budget-period', 'total'])
  })
  after(() => fleet?.stop())

  /** Calls both gateways continuously; returns the answered calls. */
  async function underLoad(trouble: () => Promise<void>): Promise<Timed[]> {
    const seen: Timed[] = []
    const load = { isOver: false }
    const call = async (caller: number) => {
      while (!load.isOver) {
        const { url } = fleet.replicas[caller % 2]!
        const atMs = performance.now()
        const answer = await ask({ url, key, question: `of ${caller}`, isStreamed: false })
        seen.push({ ...answer, atMs, elapsedMs: performance.now() - atMs })
        // Callers pause after a refusal, because refusals are immediate.
        if (answer.status !== 200) await sleep(20)
      }
    }
    const calls = Array.from({ length: callers }, (_, caller) => call(caller))
    try {
      await sleep(500)
      await trouble()
      await sleep(300)
    } finally {
      load.isOver = true
    }
    await Promise.all(calls)
    answers.push(...seen)
    return seen
  }
  const areReady = async () => {
    const answered = await Promise.all(fleet.replicas.map(({ url }) => fetch(`${url}/ready`)))
    return answered.every(({ status }) => status === 200)
  }
  const expectOnlyRefusals = (seen: readonly Timed[]) => {
    expect(new Set(seen.map(({ status }) => status))).to.deep.equal(new Set([200, 503]))
    const refused = seen.filter(({ status }) => status === 503)
    expect(refused.filter(({ retryAfter }) => !(Number(retryAfter) > 0))).to.deep.equal([])
    // Finds the call that started last, because earlier calls may be answered later.
    const last = seen.reduce((one, other) => (other.atMs > one.atMs ? other : one))
    expect(last.status).to.equal(200)
  }
  const expectConsistentLedger = async () => {
    await until('no reservation is left', async () => {
      return (await readLedger(fleet.databaseUrl)).reservations === 0
    })
    const charged = new Map(fleet.upstream.requests.map((_, index) => [String(index), 1]))
    expect(faultsOf(answers, await readLedger(fleet.databaseUrl), charged)).to.deep.equal([])
  }

  it('answer every call while it is frozen, and accept calls again when it resumes', async () => {
    const seen = await underLoad(async () => {
      fleet.postgres.killAll('SIGSTOP')
      await sleep(frozenMs).finally(() => fleet.postgres.killAll('SIGCONT'))
      await until('both are ready', areReady)
    })
    expectOnlyRefusals(seen)
    expect(Math.max(...seen.map(({ elapsedMs }) => elapsedMs))).to.be.below(answerTimeoutMs)
    await expectConsistentLedger()
  })

  it('refuse calls while it is read-only, and accept them again without a restart', async () => {
    const seen = await underLoad(async () => {
      await setReadOnly('on')
      await until('neither is ready', async () => {
        const ready = fleet.replicas.map(async ({ url }) => (await fetch(`${url}/ready`)).status)
        return (await Promise.all(ready)).every((status) => status === 503)
      })
      await sleep(500)
      await setReadOnly('off')
      await until('both are ready', areReady)
    })
    expectOnlyRefusals(seen)
    await expectConsistentLedger()
  })

  async function setReadOnly(value: 'on' | 'off'): Promise<void> {
    const client = new pg.Client({ connectionString: fleet.databaseUrl })
    await client.connect()
    await client.query('set default_transaction_read_only = off')
    await client.query(`alter system set default_transaction_read_only = ${value}`)
    await client.query('select pg_reload_conf()')
    await client.end()
  }
})
