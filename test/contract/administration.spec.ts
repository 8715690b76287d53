import { expect } from 'chai'
import type { Scope } from '../../src/core/caller.ts'
import { readAnswer } from '../support/answers.ts'
import { contract, operation, operations, resolve } from '../support/contract.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { sendRaw } from '../support/raw-connection.ts'
import { prepare } from './prepared.ts'
import { ask, codeOf, expectPromised, pathOf } from './promised.ts'

const administrative = operations.filter(({ path }) => path.startsWith('/api/'))

describe('who may use the operations of the contract', () => {
  let gateway: TestGateway
  before(async () => {
    gateway = await startGateway()
  })
  after(() => gateway.stop())

  for (const row of operations) {
    const { operationId: id, path, security = contract.security } = row
    if (security.every((one) => Object.values(one).flat().length === 0)) continue
    it(`refuses ${id} to a key without its scope`, async () => {
      const scopes: Scope[] = path.startsWith('/api/') ? ['inference'] : ['usage:read']
      const key = await gateway.createKey('test', { scopes })
      const answer = await ask(gateway, row, {}, { key })
      expectPromised(row, answer, 403)
      if (path !== '/mcp') expect(codeOf(answer)).to.equal('insufficient_scope')
    })
  }

  for (const row of operations) {
    const { operationId: id, path, security = contract.security } = row
    if (!security.some((one) => 'bearer' in one)) continue
    it(`refuses ${id} to a key that may not be used from here`, async () => {
      const networks = ['192.0.2.0/24']
      const key = await gateway.createKey('test', { scopes: ['inference', 'admin'], networks })
      const answer = await ask(gateway, row, {}, { key })
      expectPromised(row, answer, 403)
      if (path !== '/mcp') expect(codeOf(answer)).to.equal('ip_not_allowed')
    })
  }

  for (const row of administrative) {
    const { operationId: id, path, parameters = [] } = row
    const names = parameters.map((one) => resolve<{ name: string }>(one).name)
    if (!names.includes('account_id')) continue
    it(`answers 404 to ${id} for an account that is not there or of others`, async () => {
      const strange = await gateway.createAccount()
      const key = await gateway.createKey('test', { accountId: strange, scopes: ['admin'] })
      const first = await ask(gateway, operation('retrieveOwnKey'))
      const { account_id: ours } = JSON.parse(first.text) as { account_id: string }
      for (const query of [`?account_id=${ours}`, '?account_id=acc_none']) {
        expectPromised(row, await ask(gateway, row, {}, { key, query }), 404)
      }
      const asOperator = await ask(gateway, row, {}, { query: `?account_id=${strange}` })
      // What a path names is not in that account.
      expect(asOperator.status).to.be.oneOf(path.includes('{') ? [404] : [200, 201, 204])
    })
  }

  for (const row of administrative.filter(({ path }) => path.includes('{'))) {
    it(`answers 404 to ${row.operationId} for what is not there`, async () => {
      const prepared = await prepare(gateway, row)
      expectPromised(row, await ask(gateway, row, {}, { prepared: { ...prepared, path: {} } }), 404)
    })
  }

  it('refuses a request with a header that has no name', async () => {
    for (const row of administrative) {
      const start = `${row.method.toUpperCase()} ${pathOf(row)} HTTP/1.1`
      const raw = `${start}\r\nhost: gateway\r\n: x\r\n\r\n`
      expectPromised(row, readAnswer(await sendRaw(gateway.url, raw)), 400)
    }
  })
})
