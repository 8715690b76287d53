import { expect } from 'chai'
import type { Scope } from '../../src/core/caller.ts'
import { readAnswer, type Answer } from '../support/answers.ts'
import {
  contract,
  operation,
  ownOperations as operations,
  resolve,
  type OperationRow,
} from '../support/contract.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { sendRaw } from '../support/raw-connection.ts'
import { accessOf, prepare, type Prepared } from './prepared.ts'
import { ask, codeOf, expectPromised, pathOf } from './promised.ts'

/** What the contract's `security` must say: the scope beside `admin` with which it may be used. */
const scopeByHand: Record<string, Scope | undefined> = {
  retrieveOwnKey: undefined,
  listAccounts: 'admin',
  createAccount: 'admin',
  retrieveAccount: 'admin',
  updateAccount: 'admin',
  listAuditEvents: 'admin',
  listKeys: 'keys:write',
  createKey: 'keys:write',
  retrieveKey: 'keys:write',
  updateKey: 'keys:write',
  revokeKey: 'keys:write',
  rotateKey: 'keys:write',
  reportUsage: 'usage:read',
  exportUsage: 'usage:read',
  exportRequests: 'usage:read',
  listRequests: 'usage:read',
  retrieveRequest: 'usage:read',
  reloadSettings: 'admin',
  listMembers: 'admin',
  inviteMember: 'admin',
  updateMember: 'admin',
  removeMember: 'admin',
  listInvitations: 'admin',
  withdrawInvitation: 'admin',
}
/** What administrators of other accounts than the first may not do at all. */
const forOperators = new Set(['createAccount', 'reloadSettings'])

const administrative = operations.filter(({ path }) => path.startsWith('/api/'))

/** Who asks: with the scopes of a key of the account that the table is about, or otherwise. */
const callers: Record<string, readonly Scope[]> = {
  'an inference key': ['inference'],
  'a usage key': ['usage:read'],
  // It also has what the keys have that it makes.
  'a key that writes keys': ['inference', 'keys:write'],
  'an admin key': ['admin'],
}

describe('who may use the operations of the contract', () => {
  let gateway: TestGateway
  let ours: { id: string; admin: string; keys: Map<string, string> }
  let stranger: string
  before(async () => {
    gateway = await startGateway()
    const id = await gateway.createAccount()
    const keys = new Map<string, string>()
    for (const [name, scopes] of Object.entries(callers)) {
      keys.set(name, await gateway.createKey('test', { accountId: id, scopes: [...scopes] }))
    }
    ours = { id, keys, admin: keys.get('an admin key')! }
    const elsewhere = await gateway.createAccount()
    stranger = await gateway.createKey('test', { accountId: elsewhere, scopes: ['admin'] })
  })
  after(() => gateway.stop())

  /** Asks about something of our account. */
  const askAs = async (row: OperationRow, key: string | null, query = '') =>
    ask(gateway, row, {}, { prepared: await prepare(gateway, row, ours.admin), key, query })
  const expectRefused = (row: OperationRow, answer: Answer, status: number, code: string) => {
    expectPromised(row, answer, status)
    expect(codeOf(answer)).to.equal(code)
  }
  const expectAllowed = (row: OperationRow, answer: Answer) => {
    expect(answer.status, answer.text).to.be.oneOf([200, 201, 204])
    expectPromised(row, answer, answer.status)
  }

  for (const row of administrative) {
    const { operationId: id, path, security = contract.security } = row
    if (accessOf(row) !== 'caller') continue
    const needed = security.flatMap((one) => one['bearer'] ?? [])
    const names = new Set((row.parameters ?? []).map((one) => resolve<{ name: string }>(one).name))

    it(`${id}: the contract names the scope`, () => {
      if (id in scopeByHand)
        expect(needed).to.deep.equal([scopeByHand[id]].flatMap((one) => one ?? []))
      for (const one of security) expect(Object.values(one)).to.deep.equal([needed])
    })

    it(`${id}: nobody without credentials`, async () => {
      expectRefused(row, await askAs(row, null), 401, 'missing_api_key')
    })

    for (const [name, scopes] of Object.entries(callers)) {
      const isAdmin = scopes.includes('admin')
      const may = isAdmin
        ? !forOperators.has(id)
        : needed.every((one) => scopes.includes(one as Scope))
      it(`${id}: ${name} ${may ? 'may' : 'may not'}`, async () => {
        const answer = await askAs(row, ours.keys.get(name)!)
        if (may) expectAllowed(row, answer)
        else expectRefused(row, answer, 403, 'insufficient_scope')
      })
    }

    if (path.includes('{id}')) {
      it(`${id}: not an administrator of another account`, async () => {
        expectRefused(row, await askAs(row, stranger), 404, 'not_found')
      })
    }

    if (names.has('account_id')) {
      it(`${id}: not an administrator of another account who names ours, nor one who makes one up`, async () => {
        for (const account of [ours.id, 'acc_none']) {
          const answer = await askAs(row, stranger, `?account_id=${account}`)
          expectRefused(row, answer, 404, 'not_found')
        }
      })
    }

    it(`${id}: an operator may`, async () => {
      const query = names.has('account_id') ? `?account_id=${ours.id}` : ''
      const isTheirs = path.includes('{id}') && query === '' && !path.startsWith('/api/accounts/')
      const answer = isTheirs ? await ask(gateway, row) : await askAs(row, gateway.adminKey, query)
      expectAllowed(row, answer)
    })
  }

  for (const row of operations) {
    const { operationId: id, path, security = contract.security } = row
    if (!security.some((one) => 'bearer' in one)) continue
    it(`${id}: not a key that may not be used from here`, async () => {
      const networks = ['192.0.2.0/24']
      const key = await gateway.createKey('test', { scopes: ['inference', 'admin'], networks })
      const answer = await ask(gateway, row, {}, { key })
      expectPromised(row, answer, 403)
      if (path !== '/mcp') expect(codeOf(answer)).to.equal('ip_not_allowed')
    })
    if (path.startsWith('/api/')) continue
    it(`${id}: not a key that may call no models`, async () => {
      const key = await gateway.createKey('test', { scopes: ['usage:read', 'keys:write'] })
      const answer = await ask(gateway, row, {}, { key })
      expectPromised(row, answer, 403)
      if (path !== '/mcp') expect(codeOf(answer)).to.equal('insufficient_scope')
    })
  }

  for (const row of administrative.filter(({ path }) => path.includes('{'))) {
    it(`answers 404 to ${row.operationId} for what is not there`, async () => {
      const prepared = await prepare(gateway, row)
      expectPromised(row, await ask(gateway, row, {}, { prepared: { ...prepared, path: {} } }), 404)
    })
  }

  it('answers 409 for a key that has ended', async () => {
    const revoke = operation('revokeKey')
    const { path = {} } = await prepare(gateway, revoke)
    expectAllowed(revoke, await ask(gateway, revoke, {}, { prepared: { path } }))
    for (const row of [operation('updateKey'), operation('rotateKey')]) {
      expectRefused(row, await ask(gateway, row, {}, { prepared: { path } }), 409, 'key_not_active')
    }
  })

  it('answers 409 for a member who is invited, and for the last owner', async () => {
    const accountId = await gateway.createAccount()
    const { personId: id, email } = await gateway.people.signIn({ accountId })
    const query = `?account_id=${accountId}`
    const refused = async (name: string, prepared: Prepared, code: string) => {
      const row = operation(name)
      expectRefused(row, await ask(gateway, row, {}, { prepared, query }), 409, code)
    }
    await refused('inviteMember', { body: { email, role: 'admin' } }, 'already_member')
    await refused('updateMember', { path: { id }, body: { role: 'member' } }, 'last_owner')
    await refused('removeMember', { path: { id } }, 'last_owner')
  })

  it('answers 401 and 409 to newcomers who are known', async () => {
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

  it('refuses a request with a header that has no name', async () => {
    for (const row of administrative) {
      const start = `${row.method.toUpperCase()} ${pathOf(row)} HTTP/1.1`
      const raw = `${start}\r\nhost: gateway\r\n: x\r\n\r\n`
      expectPromised(row, readAnswer(await sendRaw(gateway.url, raw)), 400)
    }
  })
})
