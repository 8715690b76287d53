import { expect } from 'chai'
import { readAnswer, type Answer } from '../support/answers.ts'
import {
  contract,
  operation,
  ownOperations as operations,
  type OperationRow,
} from '../support/contract.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { sendRaw } from '../support/raw-connection.ts'
import { prepare, type Prepared } from './prepared.ts'
import { ask, codeOf, expectPromised, pathOf } from './promised.ts'

const administrative = operations.filter(({ path }) => path.startsWith('/api/'))

describe('the administration API', () => {
  let gateway: TestGateway
  before(async () => {
    gateway = await startGateway()
  })
  after(() => gateway.stop())

  const expectRefused = (row: OperationRow, answer: Answer, status: number, code: string) => {
    expectPromised(row, answer, status)
    expect(codeOf(answer)).to.equal(code)
  }
  const expectAllowed = (row: OperationRow, answer: Answer) => {
    expect(answer.status, answer.text).to.be.oneOf([200, 201, 202, 204])
    expectPromised(row, answer, answer.status)
  }

  for (const row of operations) {
    const { operationId: id, path, security = contract.security } = row
    if (!security.some((one) => 'bearer' in one)) continue
    it(`refuses ${id} to a key whose networks exclude the caller`, async () => {
      const networks = ['192.0.2.0/24']
      const key = await gateway.createKey('test', { scopes: ['inference', 'admin'], networks })
      const answer = await ask(gateway, row, {}, { key })
      expectPromised(row, answer, 403)
      if (path !== '/mcp') expect(codeOf(answer)).to.equal('ip_not_allowed')
    })
    if (path.startsWith('/api/')) continue
    it(`refuses ${id} to a key without the scope inference`, async () => {
      const key = await gateway.createKey('test', { scopes: ['usage:read', 'keys:write'] })
      const answer = await ask(gateway, row, {}, { key })
      expectPromised(row, answer, 403)
      if (path !== '/mcp') expect(codeOf(answer)).to.equal('insufficient_scope')
    })
  }

  for (const row of administrative.filter(({ path }) => path.includes('{'))) {
    // An import creates the cassette of its name.
    if (row.operationId === 'importCassette') continue
    it(`answers 404 to ${row.operationId} for an object that does not exist`, async () => {
      const prepared = await prepare(gateway, row)
      expectPromised(row, await ask(gateway, row, {}, { prepared: { ...prepared, path: {} } }), 404)
    })
  }

  it('answers 409 for an ended key', async () => {
    const revoke = operation('revokeKey')
    const { path = {} } = await prepare(gateway, revoke)
    expectAllowed(revoke, await ask(gateway, revoke, {}, { prepared: { path } }))
    for (const row of [operation('updateKey'), operation('rotateKey')]) {
      expectRefused(row, await ask(gateway, row, {}, { prepared: { path } }), 409, 'key_not_active')
    }
  })

  it('answers 409 to an invitation of a member, and to the removal of the last owner', async () => {
    const accountId = await gateway.createAccount()
    const { personId: id, email, headers } = await gateway.people.signIn({ accountId })
    const query = `?account_id=${accountId}`
    const refused = async (name: string, prepared: Prepared, code: string) => {
      const row = operation(name)
      expectRefused(row, await ask(gateway, row, {}, { prepared, query }), 409, code)
    }
    await refused('inviteMember', { body: { email, role: 'admin' } }, 'already_member')
    await refused('updateMember', { path: { id }, body: { role: 'member' } }, 'last_owner')
    await refused('removeMember', { path: { id } }, 'last_owner')
    const leave = operation('leaveAccount')
    const prepared = { path: { id: accountId }, headers }
    expectRefused(leave, await ask(gateway, leave, {}, { prepared }), 409, 'last_owner')
  })

  it('answers 409 to a sign-up and 401 or 409 to an invitation of a registered person', async () => {
    const email = 'known@example.com'
    const person = { email, name: 'Ada', password: 'correct horse battery' }
    const { people } = gateway
    const { token } = await people.invite(email)
    await gateway.setUp({ ...person, token: await people.setUpLink() })
    const signUp = operation('signUp')
    const again = { body: { ...person, email: 'KNOWN@example.com' } }
    expectRefused(signUp, await ask(gateway, signUp, {}, { prepared: again }), 409, 'email_taken')
    const accept = operation('acceptInvitation')
    const accepting = (password: string) =>
      ask(gateway, accept, {}, { prepared: { body: { token, password } } })
    const wrong = await accepting('a wrong horse')
    expectRefused(accept, wrong, 401, 'invalid_credentials')
    expectRefused(accept, await accepting(person.password), 409, 'already_member')
  })

  it('refuses passkeys to a page at an address', async () => {
    const page = { origin: gateway.url, 'sec-fetch-site': 'same-origin' }
    for (const name of ['startPasskeySession', 'startPasskey', 'createPasskey']) {
      const row = operation(name)
      expectRefused(row, await ask(gateway, row, {}, { headers: page }), 400, 'invalid_value')
    }
  })

  it('refuses a request with a header that has no name', async () => {
    for (const row of administrative) {
      const start = `${row.method.toUpperCase()} ${pathOf(row)} HTTP/1.1`
      const raw = `${start}\r\nhost: gateway\r\n: x\r\n\r\n`
      expectPromised(row, readAnswer(await sendRaw(gateway.url, raw)), 400)
    }
  })
})
