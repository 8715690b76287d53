import { expect } from 'chai'
import { operations as generated, scopesByRole } from '../../generated/operations.ts'
import type { Role, Scope } from '../../src/core/caller.ts'
import type { Answer } from '../support/answers.ts'
import { contract, ownOperations, resolve, type OperationRow } from '../support/contract.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import type { SignedInPerson } from '../support/people.ts'
import { prepare } from './prepared.ts'
import { ask, codeOf, expectPromised } from './promised.ts'
import { expectedScopes, requiredAccess, type RequiredAccess } from './permission-table.ts'

const rows = ownOperations.filter(({ path }) => path.startsWith('/api/'))

/** The scopes of each tested key, by title. */
const keyScopes: Readonly<Record<string, readonly Scope[]>> = {
  'an inference key': ['inference'],
  'a usage key': ['usage:read'],
  // A key may create only keys with scopes of its own, so this key needs `inference` too.
  'a key that writes keys': ['inference', 'keys:write'],
  'an admin key': ['admin'],
}
const roles = Object.keys(expectedScopes) as Role[]

const namesOf = ({ parameters = [] }: OperationRow) =>
  new Set(parameters.map((one) => resolve<{ name: string }>(one).name))

/** The access that the contract declares for an operation, as a RequiredAccess. */
function declared({ operationId: id, security = contract.security }: OperationRow): RequiredAccess {
  const schemes = security.flatMap((one) => Object.keys(one))
  if (security.length === 0 || security.some((one) => Object.keys(one).length === 0)) {
    return 'everybody'
  }
  if (schemes.every((scheme) => scheme === 'session')) return 'signed in'
  if (generated.find((one) => one.id === id)!.forOperators) return 'operators'
  const [scope] = security.flatMap((one) => Object.values(one).flat())
  return scope === undefined ? 'any key' : (scope as Scope)
}

function holds(who: RequiredAccess, scopes: readonly Scope[]): boolean {
  if (who === 'any key') return true
  return scopes.includes('admin') ? who !== 'operators' : scopes.includes(who as Scope)
}

describe('permissions of the operations below /api', () => {
  it('are declared in the contract as in the table', () => {
    const missing = rows.filter(({ operationId: id }) => !(id in requiredAccess))
    expect(
      missing.map(({ operationId: id }) => id),
      'New operations. Add each to requiredAccess in test/contract/permission-table.ts; give it `security` with the scope in ' +
        'openapi.yaml, and `x-operators-only: true` if administrators of other accounts may not use it; ' +
        'add what a valid request needs to test/contract/prepared.ts.',
    ).to.deep.equal([])
    const said = Object.fromEntries(rows.map((row) => [row.operationId, declared(row)]))
    expect(said).to.deep.equal(requiredAccess)
    for (const { operationId: id, security = contract.security } of rows) {
      const scopes = security.flatMap((one) => Object.values(one)).map((one) => one.join())
      expect(new Set(scopes).size, `${id} requires the same scopes for all schemes`).to.be.at.most(
        1,
      )
    }
    expect(scopesByRole).to.deep.equal(expectedScopes)
  })

  let gateway: TestGateway
  let ours: { id: string; admin: string; keys: Map<string, string> }
  let elsewhere: { id: string; admin: string }
  before(async () => {
    gateway = await startGateway()
    const id = await gateway.createAccount()
    const keys = new Map<string, string>()
    for (const [name, scopes] of Object.entries(keyScopes)) {
      keys.set(name, await gateway.createKey('test', { accountId: id, scopes: [...scopes] }))
    }
    ours = { id, keys, admin: keys.get('an admin key')! }
    const other = await gateway.createAccount()
    const admin = await gateway.createKey('test', { accountId: other, scopes: ['admin'] })
    elsewhere = { id: other, admin }
  })
  after(() => gateway.stop())

  type Credentials = { key?: string | null; person?: SignedInPerson; query?: string }
  /** Sends a request about an object of the account of `admin`, by default ours. */
  const askAs = async (
    row: OperationRow,
    { key = null, person, query = '' }: Credentials,
    admin = ours.admin,
  ) => {
    const { headers: _owner, ...prepared } = await prepare(gateway, row, admin)
    const headers = person === undefined ? {} : { headers: person.headers }
    return ask(gateway, row, {}, { prepared, key, query, ...headers })
  }
  const expectRefused = (row: OperationRow, answer: Answer, status: number, code: string) => {
    expectPromised(row, answer, status)
    expect(codeOf(answer)).to.equal(code)
  }
  const expectAllowed = (row: OperationRow, answer: Answer) => {
    expect(answer.status, answer.text).to.be.oneOf([200, 201, 202, 204])
    expectPromised(row, answer, answer.status)
  }
  const signIn = (accountId: string, role: Role) => gateway.people.signIn({ accountId, role })

  for (const row of rows) {
    const { operationId: id } = row
    const who = declared(row)
    const isOfPath = row.path.includes('{')
    const takesAccount = namesOf(row).has('account_id')

    if (who === 'everybody') {
      it(`${id} accepts requests without credentials`, async () => {
        expectAllowed(row, await ask(gateway, row, {}, { key: null }))
      })
      continue
    }

    it(`${id} refuses requests without credentials`, async () => {
      const code = who === 'signed in' ? 'invalid_session' : 'missing_api_key'
      expectRefused(row, await askAs(row, {}), 401, code)
    })

    for (const [name, scopes] of Object.entries(keyScopes)) {
      const may = who !== 'signed in' && holds(who, scopes)
      it(`${id} ${may ? 'accepts' : 'refuses'} ${name}`, async () => {
        const answer = await askAs(row, { key: ours.keys.get(name)! })
        if (may) expectAllowed(row, answer)
        else if (who === 'signed in') expectRefused(row, answer, 401, 'invalid_session')
        else expectRefused(row, answer, 403, 'insufficient_scope')
      })
    }

    if (who === 'signed in') {
      it(`${id} accepts a signed-in person`, async () => {
        expectAllowed(row, await ask(gateway, row))
      })
    } else {
      for (const role of roles) {
        const may = who !== 'any key' && holds(who, expectedScopes[role])
        it(`${id} ${may ? 'accepts' : 'refuses'} a person with the role ${role}`, async () => {
          const answer = await askAs(row, { person: await signIn(ours.id, role) })
          if (may) expectAllowed(row, answer)
          else if (who === 'any key') expectRefused(row, answer, 401, 'missing_api_key')
          else expectRefused(row, answer, 403, 'insufficient_scope')
        })
      }
    }

    // An import creates the cassette of its name in the caller's account.
    if (isOfPath && id !== 'importCassette') {
      it(`${id} refuses the owner and the admin key of another account`, async () => {
        const { people } = gateway
        const owner =
          who === 'signed in' ? await people.signIn() : await signIn(elsewhere.id, 'owner')
        const [status, code] =
          who === 'operators'
            ? ([403, 'insufficient_scope'] as const)
            : ([404, 'not_found'] as const)
        expectRefused(row, await askAs(row, { person: owner }), status, code)
        if (who === 'signed in') return
        expectRefused(row, await askAs(row, { key: elsewhere.admin }), status, code)
      })
    }

    if (takesAccount) {
      it(`${id} refuses an account_id of another account, and an unknown one`, async () => {
        const owner = await signIn(elsewhere.id, 'owner')
        for (const account of [ours.id, 'acc_none']) {
          const query = `?account_id=${account}`
          expectRefused(row, await askAs(row, { person: owner, query }), 404, 'not_found')
          if (who === 'signed in') continue
          const answer = await askAs(row, { key: elsewhere.admin, query })
          expectRefused(row, answer, 404, 'not_found')
        }
      })
    }

    if (who === 'signed in' || who === 'any key') continue
    it(`${id} accepts an operator, by key and by session`, async () => {
      const query = takesAccount ? `?account_id=${ours.id}` : ''
      // Without account_id, operators act on the first account, except below /api/accounts/.
      const isOurs = takesAccount || row.path.startsWith('/api/accounts/')
      const admin = isOurs ? ours.admin : gateway.adminKey
      expectAllowed(row, await askAs(row, { key: gateway.adminKey, query }, admin))
      const person = await gateway.people.signIn()
      expectAllowed(row, await askAs(row, { person, query }, admin))
      // Members of the first account are not operators.
      const member = await gateway.people.signIn({ role: 'member' })
      if (!takesAccount) return
      expectRefused(row, await askAs(row, { person: member, query }), 404, 'not_found')
    })
  }
})
