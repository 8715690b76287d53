import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { expect } from 'chai'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { until } from '../support/until.ts'
import { usageRow } from '../support/usage-row.ts'
import { forEachStore } from '../support/each-store.ts'

const begin = Date.parse('2026-11-01T00:00:00Z')
const range = 'from=2026-11-01&to=2026-12-01'

forEachStore("an account's share of the reports", () => {
  let gateway: TestGateway
  let key: string
  let other: string
  const exports: IncomingMessage[] = []
  beforeEach(async () => {
    gateway = await startGateway({ bounds: { reportsPerAccountMax: 2 } })
    const accountId = await gateway.createAccount()
    const scopes = ['usage:read' as const]
    key = await gateway.createKey('live', { accountId, scopes })
    other = await gateway.createKey('live', { accountId: await gateway.createAccount(), scopes })
    // Makes rows so large that the export exceeds the socket buffers of a client that does not read.
    const attempts = JSON.stringify([
      { provider: 'p'.repeat(20_000), upstreamModel: '', outcome: 'ok', durationMs: 0 },
    ])
    const row = { ...usageRow('', begin), account_id: accountId, mode: 'live', attempts }
    await gateway.addUsage(Array.from({ length: 800 }, (_, at) => ({ ...row, id: `req_${at}` })))
  })
  afterEach(async () => {
    for (const one of exports.splice(0)) one.destroy()
    await gateway.stop()
  })

  /** Requests an export and does not read the response. */
  const holdExport = async () => {
    const headers = { authorization: `Bearer ${key}` }
    const url = `${gateway.url}/api/requests/export?${range}`
    const [response] = (await once(request(url, { headers, agent: false }).end(), 'response')) as [
      IncomingMessage,
    ]
    exports.push(response)
  }
  const status = async (path: string, by = key) => {
    const response = await gateway.fetch(`/api/${path}`, { key: by })
    await response.text()
    return response.status
  }

  it('applies to reports, lists and exports together, and not to other accounts', async () => {
    await holdExport()
    expect(await status('usage')).to.equal(200)
    await holdExport()
    for (const path of ['usage', 'requests', 'usage/export', 'requests/export?format=csv']) {
      const refused = await gateway.fetch(`/api/${path}`, { key })
      expect(refused.headers.get('retry-after')).to.equal('1')
      const { message } = await expectError(refused, { status: 503, code: 'overloaded' })
      expect(message).to.match(/^2 reports and exports of this account are in progress\./)
      expect(await status(path, other)).to.equal(200)
    }
  })

  it('is free again after they end, are refused or fail', async () => {
    for (const from of ['2026-13-01', 'yesterday', '2027-01-01', '1']) {
      expect(await status(`usage?to=2026-12-01&from=${from}`)).to.equal(400)
      expect(await status(`usage/export?to=2026-12-01&from=${from}`)).to.equal(400)
      expect(await status(`requests?cursor=${from}`)).to.equal(400)
      expect(await status(`usage?cursor=${from}`)).to.equal(400)
    }
    for (let count = 0; count < 3; count++) expect(await status('usage/export')).to.equal(200)
    await holdExport()
    await holdExport()
    expect(await status('usage')).to.equal(503)
    exports.pop()!.destroy()
    await until('a report is made', async () => (await status('usage')) === 200)
  })
})
