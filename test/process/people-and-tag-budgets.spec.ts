import { expect } from 'chai'
import { completion } from '../support/chat-answers.ts'
import {
  callNanoUsd,
  prepareGateways,
  usage,
  type GatewayProcesses,
} from '../support/gateway-processes.ts'
import { programPath } from '../support/program-path.ts'
import type { ServerProcess } from '../support/server-process.ts'
import { until } from '../support/until.ts'

const paidFor = 10
const budgetNanoUsd = (paidFor + 0.9) * callNanoUsd

for (const owner of ['member', 'tag'] as const) {
  describe(`the budget of a ${owner}, in which calls at two replicas on one PostgreSQL count`, () => {
    let gateways: GatewayProcesses
    before(async function () {
      programPath('postgres', this)
      gateways = await prepareGateways({ store: 'postgres' })
    })
    after(() => gateways?.stop())

    const ask = (server: ServerProcess, key: string, tags = 'nightly') =>
      gateways.statusOf(server, key, { headers: { 'x-gateway-tags': tags } })
    const window = async () => {
      const { spent = 0, held = 0 } = await gateways.numbers(
        `select spent_nano_usd as spent, reserved_nano_usd as held from budget_windows
       where owner_id like '%:usr_1' or owner_id like '%#nightly'`,
      )
      return { spent, held }
    }

    const keysOfMember = async () => {
      const keys = [await gateways.createKey('own'), await gateways.createKey('own')]
      await gateways.query(`insert into people values ('usr_1', 'a@example.com', 'Ada', 'x', 0)`)
      await gateways.query(
        `insert into members (account_id, person_id, role, joined_at, budget_nano_usd, budget_period)
       select id, 'usr_1', 'member', 0, ${budgetNanoUsd}, 'total' from accounts`,
      )
      await gateways.query(`update api_keys set created_by = 'usr_1' where name = 'own'`)
      return keys
    }
    const keyWithTag = async () => {
      const usd = String(budgetNanoUsd / 1e9)
      return [await gateways.createKey('own', ['--tag-budget', `nightly:${usd}/total`])]
    }

    it('is never exceeded, with one replica killed, while the account has no budget', async () => {
      const [a, b] = [await gateways.start('a'), await gateways.start('b')]
      const keys = owner === 'member' ? await keysOfMember() : await keyWithTag()
      const others = await gateways.createKey('other')
      gateways.upstream.answer((_request, at) => {
        if (at === 4) b.kill('SIGKILL')
        return { ...completion('Hi.', { usage }), delayMs: (at * 7) % 30 }
      })
      let highest = 0
      const end = new AbortController()
      const watching = (async () => {
        while (!end.signal.aborted) {
          const { spent, held } = await window()
          highest = Math.max(highest, spent + held)
        }
      })()
      const round = (among: readonly ServerProcess[]) =>
        Promise.all(
          Array.from({ length: 100 }, (_, at) =>
            ask(among[at % among.length]!, keys[at % keys.length]!),
          ),
        )
      await round([a, b])
      await b.ended
      const again = await gateways.start('b')
      const statuses = await round([a, again])
      expect(statuses).to.include(402)
      end.abort()
      await watching
      expect(highest).to.be.within(1, budgetNanoUsd)
      expect(gateways.upstream.requests.length).to.be.at.most(paidFor)
      // The calls of the killed process are charged what they held.
      await until('no money is held', async () => (await window()).held === 0)
      const { cost } = await gateways.numbers('select sum(cost_nano_usd) as cost from usage')
      expect((await window()).spent).to.equal(cost)
      expect(await ask(a, owner === 'member' ? others : keys[0]!, 'weekly')).to.equal(200)
    })
  })
}
