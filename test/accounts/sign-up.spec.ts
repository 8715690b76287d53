import { expect } from 'chai'
import { expectError } from '../support/expect-error.ts'
import { startGateway, suiteClock, type TestGateway } from '../support/gateway.ts'
import { forEachStore } from '../support/each-store.ts'

const ada = { email: 'ada@example.com', name: 'Ada', password: 'correct horse battery' }

forEachStore('sign-up', () => {
  let gateway: TestGateway | undefined
  afterEach(() => gateway?.stop())

  it('creates a person and an account that they own', async () => {
    gateway = await startGateway()
    const response = await gateway.post('/api/people', ada, { key: null })
    expect(response.status).to.equal(201)
    const { person } = (await response.json()) as {
      person: { memberships: { account_id: string; role: string }[] }
    }
    expect(person.memberships).to.have.length(1)
    expect(person.memberships[0]).to.include({ role: 'owner', account_name: 'Ada' })
    const headers = { cookie: response.headers.get('set-cookie')!.split(';')[0]! }
    const accounts = await gateway.fetch('/api/accounts', { key: null, headers })
    const { data } = (await accounts.json()) as { data: object[] }
    // The person sees only their own account, because they are not an operator.
    expect(data).to.have.length(1)
    expect(data[0]).to.include({ id: person.memberships[0]!.account_id, is_operator: false })
    const audit = await gateway.fetch('/api/audit?action=person.sign_up', { key: null, headers })
    expect(((await audit.json()) as { data: object[] }).data).to.have.length(1)
  })

  it('is refused for a registered e-mail in any letter case, for concurrent requests too', async () => {
    // The clock stands still, since a busy machine takes longer than the window of the limit.
    const now = suiteClock()
    gateway = await startGateway({ clock: () => now })
    const tries = Array.from({ length: 10 }, () => gateway!.post('/api/people', ada, { key: null }))
    const statuses = (await Promise.all(tries)).map(({ status }) => status)
    expect(statuses.toSorted((a, b) => a - b)).to.deep.equal([201, ...Array(9).fill(409)])
    const [person, ...more] = await gateway.db.selectFrom('people').selectAll().execute()
    expect([person!.email, more]).to.deep.equal([ada.email, []])
    expect(await gateway.db.selectFrom('members').selectAll().execute()).to.have.length(1)
    // A limit of ten attempts per address prevents a search for registered e-mails.
    const error = { status: 429, code: 'rate_limit_exceeded' }
    await expectError(await gateway.post('/api/people', ada, { key: null }), error)
  })

  it('is closed unless the setting opens it', async () => {
    gateway = await startGateway({ variables: { SIGN_UP: undefined } })
    const answer = await gateway.post('/api/people', ada, { key: null })
    const error = { status: 403, code: 'sign_up_closed' }
    const { message } = await expectError(answer, error)
    expect(message).to.contain('invitation')
    expect(await gateway.db.selectFrom('people').selectAll().execute()).to.deep.equal([])
  })

  it('refuses common passwords and names with line breaks', async () => {
    gateway = await startGateway()
    const error = { status: 400, code: 'invalid_value' }
    for (const change of [
      { password: 'password123' },
      { name: 'a\nb' },
      { email: 'a\u0000@b.c' },
    ]) {
      const [param] = Object.keys(change)
      const answer = await gateway.post('/api/people', { ...ada, ...change }, { key: null })
      await expectError(answer, { ...error, param: param! })
    }
  })
})
