import { expect } from 'chai'
import OpenAI from 'openai'
import type { components } from '../../generated/types.ts'
import { completion } from '../support/chat-answers.ts'
import { forEachStore } from '../support/each-store.ts'
import { expectError } from '../support/expect-error.ts'
import { callTool, connectClient, textOf } from '../support/mcp-client.ts'
import { hello, startOwnEndpoint, type OwnEndpoint } from '../support/own-endpoint.ts'
import type { SignedInPerson } from '../support/people.ts'

type Schemas = components['schemas']
type Created = Schemas['CreatedApiKey']

const file = { routes: { 'gpt-5-mini': ['own/house-1'] } }
/** Nearly the whole cost of a call is that of output tokens, at $2 per million. */
const nanoPerToken = 2000
const notAllowed = { status: 403, code: 'model_not_allowed' }
const tooWide = { status: 403, code: 'insufficient_scope' }

forEachStore('the limits of a member', () => {
  let own: OwnEndpoint
  let owner: SignedInPerson
  let ada: SignedInPerson
  let now: number
  beforeEach(async () => {
    now = Date.parse('2026-11-22T12:00:00Z')
    own = await startOwnEndpoint({ file, bounds: { keyCacheMs: 600_000 }, clock: () => now })
    owner = await own.gateway.people.signIn()
    ada = await own.gateway.people.signIn({ role: 'admin', email: 'ada@example.com' })
    own.upstream.answer(({ body }) => {
      const { max_completion_tokens: most = 0 } = body as { max_completion_tokens?: number }
      const usage = { prompt_tokens: 9, completion_tokens: most, total_tokens: 9 + most }
      return completion('Hi.', { usage })
    })
  })
  afterEach(() => own.stop())

  const send = (method: string, path: string, person: SignedInPerson, body?: object) =>
    own.gateway.fetch(path, {
      method,
      key: null,
      headers: { ...person.headers, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    })
  const read = async <T>(call: Promise<Response>, status = 200): Promise<T> => {
    const response = await call
    expect(response.status, await response.clone().text()).to.equal(status)
    return (await response.json()) as T
  }
  const limit = (person: SignedInPerson, change: Schemas['MemberChange'], by = owner) =>
    send('PATCH', `/api/members/${person.personId}`, by, change)
  const make = (by: SignedInPerson, more: object = {}) =>
    send('POST', '/api/keys', by, { name: 'k', mode: 'live', ...more })
  const newKey = (by: SignedInPerson, more: object = {}) => read<Created>(make(by, more), 201)
  const sessionKey = (by: SignedInPerson, mode = 'live') =>
    read<Created>(send('POST', '/api/sessions/current/key', by, { mode }), 201)
  const ask = (key: string, tokens = 1000, more: object = {}) =>
    own.gateway.post(
      '/v1/chat/completions',
      { model: 'gpt-5-mini', messages: hello, max_completion_tokens: tokens, ...more },
      { key, headers: { 'cache-control': 'no-store' } },
    )
  const statusOf = async (call: Promise<Response>) => {
    const answer = await call
    await answer.text()
    return answer.status
  }
  const costs = async () =>
    (await own.gateway.usage()).reduce((sum, row) => sum + (row.cost_nano_usd ?? 0), 0)

  it('hold for all keys and sessions of the person together, and for nobody else', async () => {
    const keys = [await newKey(ada), await newKey(ada), await sessionKey(ada)]
    // Spent before the budget was set, by a key that was cached before.
    expect(await statusOf(ask(keys[0]!.key))).to.equal(200)
    const usd = String((3.5 * 1000 * nanoPerToken) / 1e9)
    const member = await read<Schemas['Member']>(
      limit(ada, { budget: { usd, period: 'month' }, limits: { requests_per_minute: 600 } }),
    )
    expect(member.limits.requests_per_minute).to.equal(600)
    expect(member.budget!.spent.nano_usd).to.equal(await costs())
    const calls = Array.from({ length: 30 }, (_, at) =>
      statusOf(ask(keys[at % 3]!.key, 1000, at % 2 === 0 ? { stream: true } : {})),
    )
    const statuses = await Promise.all(calls)
    expect(statuses.filter((status) => status === 200)).to.have.length(2)
    expect(statuses.filter((status) => status === 402)).to.have.length(28)
    const refused = await ask(keys[2]!.key)
    const { error } = (await refused.json()) as {
      error: { message: string; budget: Schemas['BudgetState'] }
    }
    expect(error.message).to.match(/^Your budget in this account, .* does not cover this call/)
    expect(error.message).to.include('ask an administrator of the account to raise it')
    expect(error.budget.owner_id).to.match(/^acc_\w+:usr_\w+$/)
    // The person's own page and key show the same.
    const me = await read<Schemas['Person']>(send('GET', '/api/me', ada))
    expect(me.memberships[0]!.budget).to.deep.equal(error.budget)
    const shown = await read<Schemas['OwnKey']>(
      own.gateway.fetch('/api/key', { key: keys[0]!.key }),
    )
    expect(shown.member!.budget).to.deep.equal(error.budget)
    expect(shown.member!.rate_limits.map(({ kind }) => kind)).to.deep.equal(['requests'])
    expect(shown.budget).to.equal(null)
    const { data } = await read<Schemas['MemberList']>(send('GET', '/api/members', owner))
    expect(data.find(({ id }) => id === ada.personId)!.budget).to.deep.equal(error.budget)
    const other = await newKey(owner)
    expect(await statusOf(ask(other.key))).to.equal(200)
    const free = await read<Schemas['OwnKey']>(own.gateway.fetch('/api/key', { key: other.key }))
    expect(free.member).to.equal(null)
    // A new period, and a removed budget.
    now = Date.parse('2026-12-01T00:00:00Z')
    expect(await statusOf(ask(keys[0]!.key))).to.equal(200)
    const again = await own.gateway.people.signInAgain(owner)
    await read(limit(ada, { budget: null }, again))
    expect(await statusOf(ask(keys[0]!.key, 10_000))).to.equal(200)
  })

  it('of requests are shared by their keys, and refuse in their name', async () => {
    const [first, second] = [await newKey(ada), await newKey(ada, { mode: 'test' })]
    await read(limit(ada, { limits: { requests_per_minute: 4 } }))
    expect(await statusOf(ask(first.key))).to.equal(200)
    expect(await statusOf(ask(second.key))).to.equal(200)
    expect(await statusOf(ask((await sessionKey(ada)).key, 10, { stream: true }))).to.equal(200)
    const mcp = await connectClient(own.gateway, first.key)
    const chat = () => callTool(mcp, 'chat', { model: 'gpt-5-mini', messages: hello })
    expect((await chat()).isError).not.to.equal(true)
    expect(textOf(await chat())).to.include('By your limit in this account')
    await mcp.close()
    const client = new OpenAI({
      apiKey: first.key,
      baseURL: `${own.gateway.url}/v1`,
      maxRetries: 0,
    })
    const refused = await client.chat.completions
      .create({ model: 'gpt-5-mini', messages: hello })
      .catch((error: unknown) => error)
    expect(refused).to.be.instanceOf(OpenAI.RateLimitError)
    const { message, headers } = refused as InstanceType<typeof OpenAI.RateLimitError>
    expect(message).to.include('By your limit in this account').and.include('make 4 requests')
    expect(headers.get('retry-after')).to.equal('60')
    expect(headers.get('x-ratelimit-limit-requests')).to.equal('4')
    expect(headers.get('ratelimit')).to.include('"requests-per-member";r=0;t=60')
    expect(await statusOf(ask((await newKey(owner)).key))).to.equal(200)
  })

  it('may be the sandbox alone, also for keys and connections from before', async () => {
    const [live, test] = [await newKey(ada), await newKey(ada, { mode: 'test' })]
    await read(limit(ada, { sandbox_only: true }))
    for (const key of [live.key, (await sessionKey(ada)).key]) {
      const { message } = await expectError(await ask(key), notAllowed)
      expect(message).to.include('your limit in this account').and.include('test key')
    }
    const models = await read<{ data: object[] }>(
      own.gateway.fetch('/v1/models', { key: live.key }),
    )
    expect(models.data).to.deep.equal([])
    expect(await statusOf(ask(test.key))).to.equal(200)
    expect(await statusOf(ask((await sessionKey(ada, 'test')).key))).to.equal(200)
    await read(limit(ada, { sandbox_only: false }))
    expect(await statusOf(ask(live.key))).to.equal(200)
  })

  it('come from the invitation', async () => {
    const invited = await read<Schemas['CreatedInvitation']>(
      send('POST', '/api/members', owner, {
        email: 'grace@example.com',
        role: 'member',
        limits: { concurrency: 3 },
        budget: { usd: '20', period: 'month' },
        sandbox_only: true,
        key_bounds: { models: ['openai/GPT-5-mini'], expires_in_days: 90 },
      }),
      201,
    )
    const { token } = invited
    const offered = await read<Schemas['InvitationOffer']>(
      send('POST', '/api/invitations/describe', owner, { token }),
    )
    expect(offered).to.deep.include({
      budget: { usd: '20', period: 'month' },
      sandbox_only: true,
      key_bounds: { models: ['gpt-5-mini'], expires_in_days: 90 },
    })
    const body = { token, name: 'Grace', password: 'correct horse battery' }
    const anonymous = { ...owner, headers: {} as SignedInPerson['headers'] }
    const { person } = await read<Schemas['SignedIn']>(
      send('POST', '/api/invitations/accept', anonymous, body),
      201,
    )
    const [joined] = person.memberships
    expect(joined).to.deep.include({ sandbox_only: true, key_bounds: offered.key_bounds })
    expect(joined!.limits.concurrency).to.equal(3)
    expect(joined!.budget!.left.usd).to.equal('20')
  })

  it('let a member make keys within bounds, and see only these', async () => {
    const ben = await own.gateway.people.signIn({ role: 'member', email: 'ben@example.com' })
    const foreign = await newKey(owner)
    await expectError(await make(ben), tooWide)
    await expectError(await limit(ben, { key_bounds: { models: ['no-such-model'] } }), {
      status: 400,
      code: 'invalid_value',
      param: 'key_bounds.models[0]',
    })
    await read(
      limit(ben, {
        key_bounds: {
          models: ['gpt-5-mini'],
          limits: { concurrency: 5 },
          budget: { usd: '5', period: 'month' },
          expires_in_days: 30,
        },
      }),
    )
    const made = await newKey(ben)
    expect(made).to.deep.include({ models: ['gpt-5-mini'], expires_at: '2026-12-22T12:00:00.000Z' })
    expect([made.limits.concurrency, made.budget!.amount.usd]).to.deep.equal([5, '5'])
    const wide = [
      [{ models: null }, 'models'],
      [{ models: ['gpt-5.4-mini'] }, 'models'],
      [{ limits: { concurrency: 6 } }, 'limits'],
      [{ budget: { usd: '5.01', period: 'month' } }, 'budget'],
      [{ budget: null }, 'budget'],
      [{ expires_at: null }, 'expires_at'],
      [{ scopes: ['keys:write'] }, 'scopes'],
      [{ scopes: ['admin'] }, 'scopes'],
    ] as const
    for (const [more, param] of wide) {
      const { message } = await expectError(await make(ben, more), { ...tooWide, param })
      expect(message).to.include('An administrator of the account can change these bounds')
      if (param !== 'scopes' || 'scopes' in more)
        await expectError(await send('PATCH', `/api/keys/${made.id}`, ben, more), tooWide)
    }
    const daily = await make(ben, { budget: { usd: '0.01', period: 'day' } })
    expect((await expectError(daily, { ...tooWide, param: 'budget' })).message).to.include(
      "at most $5 (month), and the period must be the same, not 'day'",
    )
    const { data } = await read<Schemas['ApiKeyList']>(send('GET', '/api/keys', ben))
    expect(data.map(({ id }) => id)).to.deep.equal([made.id])
    const missing = { status: 404, code: 'not_found' }
    await expectError(await send('GET', `/api/keys/${foreign.id}`, ben), missing)
    await expectError(await send('POST', `/api/keys/${foreign.id}/rotate`, ben, {}), missing)
    await expectError(await send('DELETE', `/api/keys/${foreign.id}`, ben), missing)
    const rotated = await read<Created>(send('POST', `/api/keys/${made.id}/rotate`, ben, {}), 201)
    expect(rotated.created_by).to.equal(ben.personId)
    // Days later the lifetime has not begun again, unless the key is a new one.
    now += 20 * 86_400_000
    const [later, owner2] = [
      await own.gateway.people.signInAgain(ben),
      await own.gateway.people.signInAgain(owner),
    ]
    const until29 = { expires_at: new Date(now + 29 * 86_400_000).toISOString() }
    const extended = await send('PATCH', `/api/keys/${made.id}`, later, until29)
    const end = { ...tooWide, param: 'expires_at' }
    expect((await expectError(extended, end)).message).to.include('expires by 2026-12-22T12:00')
    await expectError(await send('PATCH', `/api/keys/${rotated.id}`, later, until29), end)
    const anew = await read<Created>(send('POST', `/api/keys/${rotated.id}/rotate`, later, {}), 201)
    await read(send('PATCH', `/api/keys/${anew.id}`, later, until29))
    await read(limit(ben, { key_bounds: null }, owner2))
    await expectError(await make(later), tooWide)
  })

  it('are not changed by the person, and not escaped by leaving', async () => {
    const { message } = await expectError(await limit(ada, { budget: null }, ada), tooWide)
    expect(message).to.include('your own limits')
    const own1 = await newKey(ada, { scopes: ['admin'] })
    const byKey = await own.gateway.fetch(`/api/members/${ada.personId}`, {
      method: 'PATCH',
      key: own1.key,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ sandbox_only: false }),
    })
    await expectError(byKey, tooWide)
    const live = await newKey(ada)
    await read(limit(ada, { budget: { usd: '0', period: 'total' } }))
    expect(await statusOf(ask(live.key))).to.equal(402)
    const { memberships } = await read<Schemas['Person']>(send('GET', '/api/me', ada))
    const left = await send('DELETE', `/api/me/memberships/${memberships[0]!.account_id}`, ada)
    expect(left.status).to.equal(204)
    await expectError(await ask(live.key), { status: 401, code: 'invalid_api_key' })
  })

  it('are in the audit log with their values before and after', async () => {
    await read(limit(ada, { budget: { usd: '5', period: 'day' }, role: 'member' }))
    await read(limit(ada, { budget: { usd: '5', period: 'day' } }))
    const { data } = await read<Schemas['AuditEventList']>(
      send('GET', '/api/audit?action=member.update', owner),
    )
    expect(data).to.have.length(1)
    expect(data[0]!.before).to.deep.equal({ role: 'admin', budget: null })
    expect(data[0]!.after).to.deep.equal({
      role: 'member',
      budget: { amount: { usd: '5', nano_usd: 5e9 }, period: 'day' },
    })
  })
})
