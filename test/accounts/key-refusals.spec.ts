import { expect } from 'chai'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { keyCalls } from '../support/key-calls.ts'

const begin = Date.parse('2026-11-22T12:00:00Z')

const refusals: [param: string, settings: object][] = [
  ...['a\u0000b', 'a\nb', 'a\u001b[2J', '\u202eevil', '\ud800', ' ', '', 'x'.repeat(10_000)].map(
    (name): [string, object] => ['name', { name }],
  ),
  ...['nonsense', '10.0.0.0/33', '10.0.0', '1.2.3.4/-1', '::/129', '10.0.0.1;', 'fe80::1%eth0'].map(
    (one): [string, object] => ['allowed_addresses[1]', { allowed_addresses: ['::1', one] }],
  ),
  ['allowed_addresses', { allowed_addresses: [] }],
  ['models[0]', { models: ['gpt-9000'] }],
  ['models', { models: [] }],
  ['scopes', { scopes: [] }],
  ['scopes[0]', { scopes: ['root'] }],
  ['expires_at', { expires_at: '2027-02-30T12:00:00Z' }],
  ['expires_at', { expires_at: '2027-13-01T12:00:00Z' }],
  ['expires_at', { expires_at: '2026-11-22T12:00:00Z' }],
  ['expires_at', { expires_at: 'tomorrow' }],
  ['limits.concurrency', { limits: { concurrency: -1 } }],
  ['limits.concurrency', { limits: { concurrency: 1.5 } }],
  ['budget.usd', { budget: { usd: '-1', period: 'day' } }],
  ['budget.usd', { budget: { usd: '0.0000000001', period: 'day' } }],
  ['budget.usd', { budget: { usd: '99999999', period: 'day' } }],
  ['budget.period', { budget: { usd: '1', period: 'week' } }],
  ['account_id', { account_id: 'acc_1' }],
  ['key', { key: 'mag_test_x' }],
]

describe('a key', () => {
  let gateway: TestGateway
  before(async () => (gateway = await startGateway({ clock: () => begin })))
  after(() => gateway.stop())

  for (const [param, settings] of refusals) {
    it(`cannot be created or changed with ${JSON.stringify(settings).slice(0, 60)}`, async () => {
      const { make, made, change } = keyCalls(gateway)
      await expectRefused(await make(gateway.adminKey, settings), param)
      const { key: _key, ...old } = await made(gateway.adminKey)
      await expectRefused(await change(gateway.adminKey, old.id, settings), param)
      const now = await gateway.fetch(`/api/keys/${old.id}`, { key: gateway.adminKey })
      expect(await now.json()).to.deep.equal(old)
    })
  }

  for (const minutes of [-1, 1.5, 10_081, 'soon']) {
    it(`cannot be rotated with an overlap of ${minutes}`, async () => {
      const { id } = await keyCalls(gateway).made(gateway.adminKey)
      const body = { overlap_minutes: minutes }
      const answer = await gateway.post(`/api/keys/${id}/rotate`, body, { key: gateway.adminKey })
      await expectRefused(answer, 'overlap_minutes')
    })
  }
})

/** Expects an error with status 400 that names the parameter. */
async function expectRefused(answer: Response, param: string) {
  const text = await answer.text()
  expect(answer.status, text).to.equal(400)
  const { error } = JSON.parse(text) as { error: { param: string; code: string; message: string } }
  expect(error.param, text).to.equal(param)
  expect(error.message.length).to.be.below(700)
}
