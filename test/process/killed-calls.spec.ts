import { readdirSync } from 'node:fs'
import { expect } from 'chai'
import { chanceFrom } from '../support/chance.ts'
import { completion } from '../support/chat-answers.ts'
import { prepareGateways, type GatewayProcesses } from '../support/gateway-processes.ts'
import { programPath } from '../support/program-path.ts'
import type { ServerProcess } from '../support/server-process.ts'
import { until } from '../support/until.ts'

/** For more rounds: `CALL_ROUNDS=200 npx mocha --no-config test/process/killed-calls.spec.ts`. */
const rounds = Number(process.env['CALL_ROUNDS'] ?? 5)
const seed = 20_261_129
const callers = 16
const callsMax = 400

for (const kind of ['sqlite', 'postgres'] as const) {
  describe(`calls without a budget on ${kind}, in a process that is killed ${rounds} times`, () => {
    const chance = chanceFrom(seed)
    let gateways: GatewayProcesses
    before(async function () {
      if (kind === 'postgres') programPath('postgres', this)
      gateways = await prepareGateways({ store: kind })
    })
    after(() => gateways?.stop())

    let calls = 0
    const callUntilItEnds = async (server: ServerProcess, key: string): Promise<number> => {
      let answers = 0
      for (let call = 0; call < callsMax; call++) {
        // A model of its own, by which its row is found.
        const body = { model: `own/call-${++calls}` }
        const status = await gateways.statusOf(server, key, { body })
        if (status === 0) break
        if (status === 200) answers += 1
      }
      return answers
    }

    it('leave a row for each request that the vendor received', async function () {
      this.timeout(60_000 + rounds * 30_000)
      const { upstream } = gateways
      let server = await gateways.start()
      const key = await gateways.createKey('killed')
      let answers = 0
      let killAt = Infinity
      const delays = Array.from({ length: 97 }, () => chance.below(20))
      upstream.answer((_request, at) => {
        if (at + 1 === killAt) server.kill('SIGKILL')
        return { ...completion('Hi.'), delayMs: delays[at % delays.length]! }
      })
      for (let round = 0; round < rounds; round++) {
        killAt = upstream.requests.length + callers + chance.below(100)
        const counts = Array.from({ length: callers }, () => callUntilItEnds(server, key))
        answers += (await Promise.all(counts)).reduce((sum, count) => sum + count, 0)
        await server.ended
        server = await gateways.start()
      }
      const own = () =>
        readdirSync(gateways.dataDir()).filter((name) => name.startsWith('gateway.calls-'))
      await until('the marks of killed processes are rows', () => own().length === 1)
      const received = upstream.requests.map(
        ({ body }) => `own/${(body as { model: string }).model}`,
      )
      const rows = await gateways.query('select model, outcome from usage')
      const withRow = new Set(rows.map(({ model }) => model))
      const count = (of: string) => rows.filter(({ outcome }) => outcome === of).length
      process.stdout.write(
        `      ${received.length} requests received, ${answers} answers, ${rows.length} rows, ${count('unknown')} of unknown cost\n`,
      )
      expect(received.filter((model) => !withRow.has(model))).to.deep.equal([])
      expect(withRow.size).to.equal(rows.length)
      // A call that was killed between its mark and its request has a row too.
      expect(rows.length - received.length).to.be.at.most(rounds * callers)
      expect(count('unknown')).to.be.at.least(1)
      expect(count('ok')).to.be.at.least(answers)
      const sums = await gateways.numbers('select sum(calls) as calls from usage_hours')
      expect(sums['calls']).to.equal(rows.length)
      server.kill('SIGTERM')
      await server.ended
      expect(own()).to.deep.equal([])
    })
  })
}
