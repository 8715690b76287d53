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
/** Headers that a browser sends for a page of another origin. */
const crossOriginHeaders: Readonly<Record<string, Record<string, string>>> = {
  'of another site': { origin: attacker, 'sec-fetch-site': 'cross-site' },
  'of another origin of the same site': {
    origin: 'http://127.0.0.1:1',
    'sec-fetch-site': 'same-site',
  },
  'of another origin, in a browser without Sec-Fetch-Site': { origin: attacker },
  'without an origin, as a sandboxed frame': { origin: 'null' },
  'that claims our origin, with a site that is not': { 'sec-fetch-site': 'cross-site' },
}

describe('state-changing requests with a session cookie', () => {
  let gateway: TestGateway
  let owner: SignedInPerson
  before(async () => {
    gateway = await startGateway()
    owner = await gateway.people.signIn()
  })
  after(() => gateway.stop())

  /** The number of changes that the audit log contains. */
  const changes = async () =>
    (await gateway.db.selectFrom('audit_events').select('id').execute()).length

  /** Expects that the request is refused and changes nothing. */
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
    it(`to ${row.operationId} need the CSRF token of the same session`, async () => {
      const { cookie } = owner.headers
      const again = await gateway.people.signInAgain(owner)
      const other = await gateway.people.signIn()
      const tokens = [again, other].map(({ headers }) => headers['x-csrf-token'])
      await expectForged(row, {}, { cookie })
      for (const token of ['', 'wrong', 'x'.repeat(4096), ...tokens]) {
        await expectForged(row, { 'x-csrf-token': token }, { cookie })
      }
    })

    it(`to ${row.operationId} are refused from pages of other origins, even with the token`, async () => {
      const { cookie, 'x-csrf-token': token } = owner.headers
      for (const sent of Object.values(crossOriginHeaders)) {
        await expectForged(row, { ...sent, 'x-csrf-token': token }, { cookie })
      }
    })

    // Browsers allow no passkeys at an address.
    if (['startPasskey', 'createPasskey'].includes(row.operationId)) continue
    it(`to ${row.operationId} are accepted from the gateway's own pages`, async () => {
      const own = { origin: gateway.url, 'sec-fetch-site': 'same-origin' }
      const headers = accessOf(row) === 'caller' ? { ...own, ...owner.headers } : own
      const answer = await ask(gateway, row, {}, { key: null, headers })
      expect(answer.status, answer.text).to.be.oneOf([200, 201, 202, 204])
    })
  }

  for (const row of ofStrangers) {
    it(`to ${row.operationId} are refused from pages of other origins, which cannot sign a person in`, async () => {
      for (const sent of Object.values(crossOriginHeaders)) await expectForged(row, sent)
    })
  }
})
