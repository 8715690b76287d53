import { expect } from 'chai'
import { ownOperations, type OperationRow } from '../support/contract.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import type { SignedInPerson } from '../support/people.ts'
import { accessOf, prepare } from './prepared.ts'
import { ask, codeOf, expectPromised } from './promised.ts'

const unsafe = ownOperations.filter(
  ({ path, method }) => path.startsWith('/api/') && !['get', 'head'].includes(method),
)
const ofPeople = unsafe.filter((row) => ['caller', 'person', 'anyone'].includes(accessOf(row)))
const ofStrangers = unsafe.filter((row) => ['public', 'anyone'].includes(accessOf(row)))

const attacker = 'https://attacker.example'
/** What a browser says of a request of a page that is not the gateway's. */
const fromElsewhere: Readonly<Record<string, Record<string, string>>> = {
  'of another site': { origin: attacker, 'sec-fetch-site': 'cross-site' },
  'of another origin of the same site': {
    origin: 'http://127.0.0.1:1',
    'sec-fetch-site': 'same-site',
  },
  'of another origin, in a browser that does not tell more': { origin: attacker },
  'without an origin, as a sandboxed frame': { origin: 'null' },
  'that claims our origin, with a site that is not': { 'sec-fetch-site': 'cross-site' },
}

describe('requests that change something, with the cookie of a person', () => {
  let gateway: TestGateway
  let owner: SignedInPerson
  before(async () => {
    gateway = await startGateway()
    owner = await gateway.people.signIn()
  })
  after(() => gateway.stop())

  /** What there is to be changed, apart from what preparing a request makes. */
  const changes = async () =>
    (await gateway.db.selectFrom('audit_events').select('id').execute()).length

  /** Refused before anything was done. */
  const expectForged = async (
    row: OperationRow,
    headers: Record<string, string>,
    { cookie }: { cookie?: string } = {},
  ) => {
    const { headers: own, ...prepared } = await prepare(gateway, row)
    const before = await changes()
    const sent = cookie === undefined ? headers : { cookie: own?.['cookie'] ?? cookie, ...headers }
    const answer = await ask(gateway, row, {}, { prepared, key: null, headers: sent })
    expectPromised(row, answer, 403)
    expect(codeOf(answer)).to.equal('csrf_failed')
    expect(await changes()).to.equal(before)
  }

  for (const row of ofPeople) {
    it(`${row.operationId}: need the token of that very session`, async () => {
      const { cookie } = owner.headers
      const again = await gateway.people.signInAgain(owner)
      const other = await gateway.people.signIn()
      const tokens = [again, other].map(({ headers }) => headers['x-csrf-token'])
      await expectForged(row, {}, { cookie })
      for (const token of ['', 'wrong', 'x'.repeat(4096), ...tokens]) {
        await expectForged(row, { 'x-csrf-token': token }, { cookie })
      }
    })

    it(`${row.operationId}: are refused from pages of elsewhere, even with the token`, async () => {
      const { cookie, 'x-csrf-token': token } = owner.headers
      for (const told of Object.values(fromElsewhere)) {
        await expectForged(row, { ...told, 'x-csrf-token': token }, { cookie })
      }
    })

    it(`${row.operationId}: are taken from the gateway's own pages`, async () => {
      const own = { origin: gateway.url, 'sec-fetch-site': 'same-origin' }
      const headers = accessOf(row) === 'caller' ? { ...own, ...owner.headers } : own
      const answer = await ask(gateway, row, {}, { key: null, headers })
      expect(answer.status, answer.text).to.be.oneOf([200, 201, 204])
    })
  }

  for (const row of ofStrangers) {
    it(`${row.operationId}: let nobody be signed in by a page of elsewhere`, async () => {
      for (const told of Object.values(fromElsewhere)) await expectForged(row, told)
    })
  }
})
