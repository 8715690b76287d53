import OpenAI from 'openai'
import { expect } from 'chai'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { hello } from '../support/own-endpoint.ts'

type State = {
  id: string
  api_key: string
  expires_at: string
  model?: string
  response_id?: string
  job_id?: string
}
const model = 'gpt-5.4-mini'
const states = '/v1/sandbox/states'

/** What the first call of a client without repetitions is answered with, by state. */
const refusals: [state: string, status: number, code: string][] = [
  ['an expired key', 401, 'expired_api_key'],
  ['a revoked key', 401, 'invalid_api_key'],
  ['a key with a full rate limit', 429, 'rate_limit_exceeded'],
  ['a key that may not use the model', 403, 'model_not_allowed'],
  ['a key with a spent budget', 402, 'insufficient_quota'],
  ['a vendor that answers 429 twice', 429, 'rate_limit_exceeded'],
  ['a vendor that is down', 502, 'provider_error'],
  ['a vendor that refuses the content', 400, 'content_policy_violation'],
]

describe('provider states', () => {
  let gateway: TestGateway
  let now: number
  before(async () => {
    now = Date.UTC(2026, 10, 29)
    gateway = await startGateway({ clock: () => now })
  })
  after(() => gateway.stop())

  const ask = async (body: object, key = gateway.testKey) => {
    const answer = await gateway.post(states, body, { key })
    return {
      status: answer.status,
      body: (await answer.json()) as State & {
        error: { message: string; code: string; param: string }
      },
    }
  }
  const setUp = async (state: string, params = {}): Promise<State> => {
    const { status, body } = await ask({ action: 'setup', state, params })
    expect(status, JSON.stringify(body)).to.equal(200)
    return body
  }
  const tearDown = (params: object) => ask({ action: 'teardown', state: 'a valid key', params })
  const clientOf = ({ api_key: apiKey }: State, maxRetries = 0) =>
    new OpenAI({ apiKey, baseURL: `${gateway.url}/v1`, maxRetries })
  const chat = (state: State) => clientOf(state).chat.completions.create({ model, messages: hello })
  const refusalOf = (call: Promise<unknown>) =>
    call.then(
      () => undefined,
      ({ status, code }: InstanceType<typeof OpenAI.APIError>) => ({ status, code }),
    )

  it('are a valid key, which expires after ten minutes', async () => {
    const made = await setUp('a valid key')
    expect((await chat(made)).choices[0]!.message.content).to.not.equal('')
    expect(Date.parse(made.expires_at)).to.equal(now + 600_000)
  })

  for (const [state, status, code] of refusals)
    it(`are ${state}: ${status} ${code}`, async () => {
      const made = await setUp(state)
      expect(await refusalOf(chat(made))).to.deep.equal({ status, code })
      expect((await tearDown({ id: made.id })).status).to.equal(200)
    })

  it('refuse pictures, embeddings and streams as they refuse chats', async () => {
    const made = await setUp('a key with a spent budget')
    const client = clientOf(made)
    const picture = (of: OpenAI) => of.images.generate({ prompt: 'A fox' })
    const vector = (of: OpenAI) =>
      of.embeddings.create({ model: 'text-embedding-3-small', input: 'A fox' })
    const calls = [
      picture,
      vector,
      (of: OpenAI) => of.responses.create({ model, input: 'Hello.' }),
      (of: OpenAI) => of.chat.completions.create({ model, messages: hello, stream: true }),
    ]
    for (const call of calls)
      expect(await refusalOf(call(client))).to.deep.equal({
        status: 402,
        code: 'insufficient_quota',
      })
    const down = clientOf(await setUp('a vendor that is down'))
    for (const call of [picture, vector])
      expect(await refusalOf(call(down))).to.deep.equal({ status: 502, code: 'provider_error' })
  })

  it('are a vendor that answers 429 twice, and then answers', async () => {
    const made = await setUp('a vendor that answers 429 twice')
    for (const _ of [1, 2]) expect(await refusalOf(chat(made))).to.include({ status: 429 })
    expect((await chat(made)).choices).to.have.length(1)
    expect((await chat(made)).choices).to.have.length(1)
  })

  it('are a slow vendor', async () => {
    const made = await setUp('a slow vendor')
    const given = AbortSignal.timeout(500)
    const call = clientOf(made).chat.completions.create(
      { model, messages: hello },
      { signal: given },
    )
    expect(
      await call.then(
        () => 'answered',
        (error: Error) => error.constructor.name,
      ),
    ).to.equal('APIUserAbortError')
  })

  it('are a deactivated model, by its name', async () => {
    const made = await setUp('a deactivated model')
    const call = clientOf(made).images.generate({ model: made.model!, prompt: 'A fox' })
    expect(await refusalOf(call)).to.include({ status: 410 })
  })

  it('are a stored response and a completed job, by their ids', async () => {
    const stored = await setUp('a stored response', { model })
    const response = await clientOf(stored).responses.retrieve(stored.response_id!)
    expect(response).to.include({ id: stored.response_id, status: 'completed' })
    expect(stored.model).to.equal(model)
    const made = await setUp('a completed image job')
    const job = await clientOf(made).get(`/images/jobs/${made.job_id}`)
    expect(job).to.include({ id: made.job_id, status: 'completed' })
    expect((await setUp('a stored response')).response_id).to.match(/^resp_/)
  })

  it('end with their teardown, by id or by key, which ends no other key', async () => {
    const [first, second] = [await setUp('a valid key'), await setUp('a valid key')]
    await tearDown({ id: first.id })
    await tearDown({ api_key: second.api_key })
    for (const made of [first, second])
      expect(await refusalOf(chat(made))).to.include({ status: 401 })
    const own = (await (await gateway.fetch('/api/key', { key: gateway.testKey })).json()) as State
    await tearDown({ id: own.id, api_key: gateway.testKey })
    await tearDown({})
    expect((await gateway.fetch('/api/key', { key: gateway.testKey })).status).to.equal(200)
  })

  it('need a test key, and one of their names', async () => {
    const refused = await ask({ state: 'a valid key' }, gateway.liveKey)
    expect(refused).to.nested.include({ status: 403, 'body.error.code': 'insufficient_scope' })
    expect(refused.body.error.message).to.include('Send a test key')
    const unknown = await ask({ state: 'a broken key' })
    expect(unknown).to.nested.include({ status: 400, 'body.error.param': 'state' })
  })

  it('may do no more than the calling key', async () => {
    const row = { requests_per_minute: 2 }
    const expiresAt = now + 60_000
    const narrow = await gateway.createKey('test', { models: [model], expiresAt, row })
    const { body: made } = await ask({ state: 'a valid key' }, narrow)
    expect(Date.parse(made.expires_at)).to.equal(expiresAt)
    const other = clientOf(made).chat.completions.create({ model: 'gpt-5-mini', messages: hello })
    expect(await refusalOf(other)).to.deep.equal({ status: 403, code: 'model_not_allowed' })
    const { body: second } = await ask({ state: 'a valid key' }, narrow)
    const statuses: (number | undefined)[] = []
    for (const one of [made, second, made, second])
      statuses.push((await refusalOf(chat(one)))?.status)
    expect(statuses.at(-1)).to.equal(429)
  })

  it('set up no further states, which would outlive the calling key', async () => {
    const made = await setUp('a valid key')
    const refused = await ask({ state: 'a valid key' }, made.api_key)
    expect(refused).to.nested.include({ status: 403, 'body.error.code': 'insufficient_scope' })
    expect(refused.body.error.message).to.include('a test key that is not')
  })

  it('have keys that an administrator can end, and cannot replace or change', async () => {
    const { id, expires_at: end } = await setUp('a valid key')
    const path = `/api/keys/${id}`
    const send = (method: string, to: string, body: object) =>
      gateway.fetch(to, {
        method,
        key: gateway.adminKey,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
    const inactive = { status: 409, code: 'key_not_active' }
    await expectError(await send('POST', `${path}/rotate`, {}), inactive)
    await expectError(await send('PATCH', path, { expires_at: null }), inactive)
    const shown = await gateway.fetch(path, { key: gateway.adminKey })
    expect(await shown.json()).to.include({ expires_at: end })
    expect((await gateway.fetch(path, { method: 'DELETE', key: gateway.adminKey })).ok).to.equal(
      true,
    )
    await tearDown({ id })
  })

  it('take the parameters and the consumers that a contract has', async () => {
    const contract = { consumer: 'shop', consumers: ['shop'], params: { userId: 3, more: [{}] } }
    expect(await ask({ state: 'a valid key', ...contract })).to.include({ status: 200 })
    const wrong = await ask({ state: 'a valid key', params: { model: 3 } })
    expect(wrong).to.nested.include({ status: 400, 'body.error.param': 'params.model' })
  })

  it('refuse twice only calls that reach the vendor', async () => {
    const made = await setUp('a vendor that answers 429 twice')
    const unknown = clientOf(made).chat.completions.create({ model: 'no-such', messages: hello })
    expect(await refusalOf(unknown)).to.include({ status: 404 })
    for (const status of [429, 429, undefined])
      expect((await refusalOf(chat(made)))?.status).to.equal(status)
  })

  it('leave nothing in the store after their teardown, or when they cannot be set up', async () => {
    const own = await gateway.inNewAccount()
    const { body: spent } = await ask({ state: 'a key with a spent budget' }, own.testKey)
    expect(await refusalOf(chat(spent))).to.include({ status: 402 })
    const end = { action: 'teardown', state: 'a valid key', params: { id: spent.id } }
    await ask(end, own.testKey)
    const params = { model: 'gpt-5.4-mini' }
    const failed = await ask({ state: 'a completed image job', params }, own.testKey)
    expect(failed).to.nested.include({ status: 400, 'body.error.param': 'model' })
    const { account_id: accountId } = (await (
      await own.fetch('/api/key', { key: own.testKey })
    ).json()) as { account_id: string }
    const keys = gateway.db.selectFrom('api_keys').select('id').where('account_id', '=', accountId)
    expect(await keys.where('played', 'is not', null).execute()).to.deep.equal([])
    const windows = gateway.db.selectFrom('budget_windows').select('owner_id')
    expect(await windows.where('owner_id', '=', spent.id).execute()).to.deep.equal([])
  })

  it('are as many at a time as an account may have, and not in the list of its keys', async () => {
    const results = await Promise.all(
      Array.from({ length: 60 }, () => ask({ state: 'a valid key' })),
    )
    const statuses = results.map(({ status }) => status)
    expect(new Set(statuses)).to.deep.equal(new Set([200, 429]))
    const { length } = await gateway.db
      .selectFrom('api_keys')
      .select('id')
      .where('played', 'is not', null)
      .execute()
    expect(length).to.equal(50)
    const listed = await (
      await gateway.fetch('/api/keys?limit=100', { key: gateway.adminKey })
    ).json()
    expect(JSON.stringify(listed)).to.not.include('state: ')
    now += 600_001
    await setUp('a valid key')
    now += 3_600_000
    await setUp('a valid key')
    const { length: kept } = await gateway.db
      .selectFrom('api_keys')
      .select('id')
      .where('played', 'is not', null)
      .execute()
    expect(kept).to.equal(2)
  })
})
