import { expect } from 'chai'
import type { components } from '../../generated/types.ts'
import { createAudit } from '../../src/accounts/audit.ts'
import { forEachStore } from '../support/each-store.ts'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import type { SignedInPerson } from '../support/people.ts'

type AuditEvent = components['schemas']['AuditEvent']

const hourMs = 3_600_000
const ada = { email: 'ada@example.com', password: 'a sentence of Ada' }

forEachStore('the audit log', () => {
  let gateway: TestGateway
  let now: number
  beforeEach(async () => {
    now = Date.parse('2026-11-22T12:10:00Z')
    gateway = await startGateway({ clock: () => now })
    const token = await gateway.people.setUpLink()
    const body = { ...ada, name: 'Ada Lovelace', token }
    expect((await gateway.post('/api/setup', body, { key: null })).status).to.equal(201)
  })
  afterEach(() => gateway.stop())

  const signIn = (change: object = {}) =>
    gateway.post('/api/sessions', { ...ada, ...change }, { key: null })
  const get = (path: string, headers: Record<string, string> = {}) =>
    gateway.fetch(path, { key: gateway.adminKey, headers })
  const failures = async () => {
    const response = await get('/api/audit?action=session.refuse&order=asc&limit=100')
    return ((await response.json()) as { data: AuditEvent[] }).data
  }

  it('counts failed sign-ins of a person from an address in an hour', async () => {
    const wrong = { status: 401, code: 'invalid_credentials' } as const
    for (let count = 0; count < 3; count++)
      await expectError(await signIn({ password: 'not this one' }), wrong)
    const from = new Date(now).toISOString()
    now += hourMs
    await expectError(await signIn({ password: 'not this one' }), wrong)
    const [first, second, ...others] = await failures()
    expect(others).to.deep.equal([])
    expect(first).to.deep.include({
      at: from,
      by: 'unknown',
      by_name: null,
      target_name: 'Ada Lovelace',
      before: null,
      after: { times: 3, last_at: from },
    })
    expect(first!.address).to.match(/127\.0\.0\.1/)
    expect(second!.after).to.include({ times: 1 })
    expect(second!.target).to.equal(first!.target).and.to.match(/^usr_/)
  })

  it('counts those of unknown people in the first account, without their e-mails', async () => {
    for (const email of ['a@example.com', 'my-secret-password@example.com'])
      await signIn({ email, password: 'not this one' })
    const [only, ...others] = await failures()
    expect(others).to.deep.equal([])
    expect(only).to.deep.include({ target: 'unknown', target_name: null })
    expect(only!.after).to.include({ times: 2 })
    const log = await (await get('/api/audit')).text()
    expect(log).not.to.include('my-secret').and.not.to.include('not this one')
  })

  it('tells the account that the person joined, and no other', async () => {
    const accountId = await gateway.createAccount()
    const { email } = await gateway.people.signIn({ accountId })
    await signIn({ email, password: 'not this one' })
    expect(await failures()).to.deep.equal([])
    const found = await get(`/api/audit?action=session.refuse&account_id=${accountId}`)
    expect(((await found.json()) as { data: AuditEvent[] }).data).to.have.length(1)
  })

  // Fleet#9119 and BookStack#3211 refused such a log for fear of a flood of rows.
  it('has at most 51 events of failures in an hour, also from many processes at once', async () => {
    const audits = [1, 2].map(() => createAudit({ db: gateway.db }, () => now))
    for (let at = 0; at < 120; at += 4) {
      await Promise.all(
        [0, 1, 2, 3].map((more) => {
          const address = `203.0.113.${at + more}`
          return audits[more % 2]!.countFailedSignIn({ personId: undefined, address })
        }),
      )
    }
    const all = await failures()
    const times = all.map(({ after }) => Number(after!['times']))
    expect(times.reduce((sum, one) => sum + one)).to.equal(120)
    // Processes that count at the same moment may each add the last one.
    expect(all.length).to.be.within(51, 54)
    const rest = all.filter(({ address }) => address === null)
    expect(rest).to.have.length(1)
    expect(rest[0]!.after!['times']).to.be.above(60)
  })

  it('has no entry for opening the playground', async () => {
    const person = await gateway.people.signIn()
    const { headers } = person
    const path = '/api/sessions/current/key'
    expect((await gateway.post(path, { mode: 'test' }, { key: null, headers })).status).to.equal(
      201,
    )
    const log = await get(`/api/audit?by=${person.personId}`)
    expect(((await log.json()) as { data: AuditEvent[] }).data).to.deep.equal([])
  })

  it('names the vendor and the last characters of its keys', async () => {
    const body = { key: 'sk-proj-0123456789abcdef', force: true }
    const path = '/api/providers/openai/keys'
    const variables = { OPENAI_BASE_URL: 'http://127.0.0.1:9/v1' }
    await using own = await startGateway({ beside: gateway, clock: () => now, variables })
    const added = await own.post(path, body, { key: own.adminKey })
    expect(added.status).to.equal(201)
    const { id } = (await added.json()) as { id: string }
    await own.fetch(`${path}/${id}`, { method: 'DELETE', key: own.adminKey })
    const { data } = (await (await get(`/api/audit?target=${id}`)).json()) as { data: AuditEvent[] }
    expect(data.map((event) => event.target_name)).to.deep.equal(['openai …cdef', 'openai …cdef'])
  })

  it('is exported whole, by any filter, and no cell is a formula', async () => {
    const name = '=HYPERLINK("https://evil.example")'
    for (let count = 0; count < 205; count++) {
      const made = await gateway.post(
        '/api/keys',
        { name, mode: 'test' },
        { key: gateway.adminKey },
      )
      expect(made.status).to.equal(201)
    }
    const response = await get('/api/audit/export?action=key.create', { accept: 'text/csv' })
    expect(response.headers.get('content-type')).to.match(/^text\/csv/)
    expect(response.headers.get('content-disposition')).to.match(
      /filename="audit-export-2026-11-22-2026-11-22\.csv"/,
    )
    const [head, ...lines] = (await response.text()).trimEnd().split('\r\n')
    expect(head).to.equal('id,at,action,by,by_name,address,target,target_name,before,after')
    expect(lines).to.have.length(205)
    for (const line of lines) expect(line).to.include(`,"'=HYPERLINK(""https://evil.example"")",`)
    const whole = await get('/api/audit/export?format=json')
    const { data, rows, object } = (await whole.json()) as components['schemas']['AuditExport']
    expect([object, data.length]).to.deep.equal(['audit_export', rows])
    expect(new Set(data.map(({ id }) => id)).size)
      .to.equal(rows)
      .and.to.be.above(205)
    const none = await get('/api/audit/export?to=2020-01-01&from=2019-01-01&format=jsonl')
    expect((await none.text()).split('\n')[1]).to.equal('{"object":"export_end","rows":0}')
    const wrong = await get('/api/audit/export?from=2026-12-01&to=2026-11-01')
    await expectError(wrong, { status: 400, code: 'invalid_value', param: 'from' })
  })

  it('is exported by administrators of the account alone', async () => {
    const member: SignedInPerson = await gateway.people.signIn({ role: 'member' })
    const init = { key: null, headers: member.headers }
    const refused = await gateway.fetch('/api/audit/export', init)
    await expectError(refused, { status: 403, code: 'insufficient_scope' })
    const accountId = await gateway.createAccount()
    const key = await gateway.createKey('test', { accountId, scopes: ['admin'] })
    const other = await gateway.fetch('/api/audit/export?format=json', { key })
    const { data } = (await other.json()) as components['schemas']['AuditExport']
    expect(data.filter((event) => event.account_id !== accountId)).to.deep.equal([])
  })
})
