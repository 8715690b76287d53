import { expect } from 'chai'
import type { components } from '../../generated/types.ts'
import { forEachStore } from '../support/each-store.ts'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { usageRow } from '../support/usage-row.ts'

type Schemas = components['schemas']
type Request = { content?: string; provider?: string; tolerance_usd?: string }

const head = 'start_time,amount_value,amount_currency,line_item\n'

forEachStore('POST /api/reconcile', () => {
  let gateway: TestGateway
  before(async () => {
    gateway = await startGateway()
    const { id } = await gateway.db.selectFrom('accounts').select('id').executeTakeFirstOrThrow()
    const rows = [1, 2, 3].map((day) => ({
      ...usageRow(`req_${day}`, Date.parse(`2026-10-0${day}T12:00:00Z`)),
      account_id: id,
      mode: 'live',
      provider: 'openai',
      model: 'gpt-5-nano',
      cost_nano_usd: 500_000_000,
    }))
    // Another provider that has no calls on these days.
    const before = { ...rows[0]!, ...usageRow('req_0', Date.parse('2026-09-01T12:00:00Z')) }
    const own = { ...before, account_id: id, mode: 'live', provider: 'own' }
    await gateway.db
      .insertInto('usage')
      .values([...rows, own])
      .execute()
  })
  after(() => gateway.stop())

  const ask = (body: Request, key: string | null = gateway.adminKey) =>
    gateway.post('/api/reconcile', body, { key })
  const found = async (body: Request) => {
    const answer = await ask(body)
    expect(answer.status, await answer.clone().text()).to.equal(200)
    return (await answer.json()) as Schemas['Reconciliation']
  }
  const csv = (...amounts: string[]) =>
    head +
    amounts
      .map((amount, at) => `2026-10-0${at + 1},${amount},usd,"gpt-5-nano-2025-08-07, input"\r\n`)
      .join('')

  it('answers that a true export agrees, and since when a doctored one differs', async () => {
    expect(await found({ content: csv('0.5', '0.5', '0.5') })).to.deep.include({
      provider: 'openai',
      from: '2026-10-01',
      to: '2026-10-03',
      drifts: false,
    })
    const { drifts, total, models } = await found({ content: csv('0.5', '0.75', '0.75') })
    expect(drifts).to.equal(true)
    expect(total).to.include({ exported_usd: '2', ledger_usd: '1.5', difference_usd: '0.5' })
    const [model] = models
    expect(model).to.include({ model: 'gpt-5-nano', since: '2026-10-02', difference_usd: '0.5' })
    expect(model!.days.map(({ day, drifts: does }) => [day, does])).to.deep.equal([
      ['2026-10-01', false],
      ['2026-10-02', true],
      ['2026-10-03', true],
    ])
  })

  it('compares with another provider, and ignores differences up to the tolerance', async () => {
    const content = csv('0.5', '0.75', '0.5')
    expect(await found({ content, tolerance_usd: '0.25' })).to.include({ drifts: false })
    const own = await found({ content, provider: 'own' })
    expect(own.total).to.include({ ledger_usd: '0' })
    const unknown = { status: 400, code: 'invalid_value', param: 'provider' } as const
    const { message } = await expectError(await ask({ content, provider: 'opnai' }), unknown)
    expect(message).to.include("'opnai'").and.include('openai, own')
  })

  it('refuses wrong files with line and column, and wrong requests', async () => {
    const refused: [Request, string, RegExp][] = [
      [{ content: 'a,b\n1,2\n' }, 'content', /^Line 2, column start_time.*none of these columns/],
      [{ content: `${head}2026-10-01,1,eur,a\n` }, 'content', /"eur" is not USD/],
      [{ content: `${head}2026-10-01,much,usd,a\n` }, 'content', /^Line 2, column amount_value/],
      [{ content: `${head}2026-10-01,1,usd,"a\n` }, 'content', /quote not closed/],
      [{ content: 'PK\u0003\u0004\u0000' }, 'content', /^Line 1, column any: there are no rows/],
      [{ content: csv('1'), tolerance_usd: 'much' }, 'tolerance_usd', /./],
      [{ content: 'a'.repeat(8_388_609) }, 'content', /8388608/],
      [{}, 'content', /./],
    ]
    for (const [body, param, message] of refused) {
      const code = body.content === undefined ? 'missing_required_parameter' : 'invalid_value'
      const error = await expectError(await ask(body), { status: 400, code })
      expect(error.param).to.equal(param)
      expect(error.message).to.match(message)
    }
  })

  it('is for operators', async () => {
    const accountId = await gateway.createAccount()
    const { headers } = await gateway.people.signIn({ accountId })
    const asOther = await gateway.fetch('/api/reconcile', {
      method: 'POST',
      key: null,
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify({ content: csv('1') }),
    })
    const refused = { status: 403, code: 'insufficient_scope' } as const
    await expectError(asOther, refused)
    await expectError(await ask({ content: csv('1') }, gateway.liveKey), refused)
  })
})
