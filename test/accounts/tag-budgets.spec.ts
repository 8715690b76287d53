import { expect } from 'chai'
import OpenAI from 'openai'
import type { components } from '../../generated/types.ts'
import { completion, streamed } from '../support/chat-answers.ts'
import { forEachStore } from '../support/each-store.ts'
import { expectError } from '../support/expect-error.ts'
import type { TestGateway } from '../support/gateway.ts'
import { startImageVendors, type ImageVendors } from '../support/image-vendors.ts'
import { callTool, connectSession, textOf } from '../support/mcp-client.ts'
import { hello, ownKey, ownProvider } from '../support/own-endpoint.ts'
import { until } from '../support/until.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'

type Schemas = components['schemas']
type Created = Schemas['CreatedApiKey']
type TagBudgets = Schemas['TagBudget'][]

/** Nearly the whole cost of a call is that of output tokens, at $2 per million. */
const nanoPerToken = 2000
const usdOf = (calls: number) => String((calls * 1000 * nanoPerToken) / 1e9)
const fresh = { 'cache-control': 'no-store' }
const tool = {
  name: 'look_up',
  description: 'Looks up a word',
  parameters: { type: 'object', properties: { word: { type: 'string' } } },
}

forEachStore('the budgets of tags', () => {
  let vendors: ImageVendors
  let shared: TestGateway
  let gateway: TestGateway
  let upstream: Upstream
  before(async () => {
    upstream = await startUpstream()
    vendors = await startImageVendors({
      vendors: ['openai'],
      variables: { OWN_API_KEY: ownKey },
      file: {
        providers: [ownProvider('own', upstream)],
        routes: { 'gpt-5-mini': ['own/house-1'] },
      },
      bounds: { budgetWaitMaxMs: 50 },
    })
    shared = vendors.gateway
  })
  beforeEach(async () => {
    vendors.reset()
    gateway = await shared.inNewAccount()
    upstream.answer(({ body }) => {
      const asked = body as { max_completion_tokens?: number; stream?: boolean }
      const { max_completion_tokens: most = 0, stream } = asked
      const usage = { prompt_tokens: 9, completion_tokens: most, total_tokens: 9 + most }
      return stream ? streamed(['Hi.'], { usage }) : completion('Hi.', { usage })
    })
  })
  after(async () => {
    await vendors?.stop()
    await upstream.stop()
  })

  const send = (method: string, path: string, body?: object, key = gateway.adminKey) =>
    gateway.fetch(path, {
      method,
      key,
      ...(body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    })
  const read = async <T>(call: Promise<Response>, status = 200): Promise<T> => {
    const response = await call
    expect(response.status, await response.clone().text()).to.equal(status)
    return (await response.json()) as T
  }
  const budget = (tag: string, usd: string, period: Schemas['BudgetPeriod'] = 'month') => ({
    tag,
    budget: { usd, period },
  })
  const make = (budgets: readonly object[], more: object = {}, by?: string) =>
    send('POST', '/api/keys', { name: 'k', mode: 'live', tag_budgets: budgets, ...more }, by)
  const newKey = (...budgets: object[]) => read<Created>(make(budgets), 201)
  const ask = (key: string, tags: string | undefined, more: object = {}) =>
    gateway.post(
      '/v1/chat/completions',
      { model: 'gpt-5-mini', messages: hello, max_completion_tokens: 1000, ...more },
      { key, headers: { ...fresh, ...(tags && { 'x-gateway-tags': tags }) } },
    )
  const statusOf = async (call: Promise<Response>) => {
    const answer = await call
    await answer.text()
    return answer.status
  }
  /** The error of a call that a budget refuses; it has the budget's state. */
  const refusalOf = async (call: Promise<Response>, status = 402) => {
    const answer = await call
    expect(answer.status, await answer.clone().text()).to.equal(status)
    const { error } = (await answer.json()) as {
      error: { message: string; code: string; budget: Schemas['BudgetState'] }
    }
    expect(error.code).to.equal(status === 402 ? 'insufficient_quota' : 'rate_limit_exceeded')
    return { ...error, retryAfter: answer.headers.get('retry-after') }
  }
  const statesOf = async (key: string) => {
    const { tag_budgets: states } = await read<Schemas['OwnKey']>(
      send('GET', '/api/key', undefined, key),
    )
    return Object.fromEntries(states.map(({ tag, budget: state }) => [tag, state]))
  }
  /** What the rows of calls with a tag cost. */
  const costOf = async (tag: string) =>
    (await gateway.usage())
      .filter(({ tags }) => tags !== null && (JSON.parse(tags) as string[]).includes(tag))
      .reduce((sum, row) => sum + (row.cost_nano_usd ?? 0), 0)

  it('that cover 3 calls pay exactly 3, by header or metadata, whole, streamed and as responses', async () => {
    const { id, key } = await newKey(budget('team=search', usdOf(3.9)), budget('other', '0'))
    const client = new OpenAI({ apiKey: key, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
    const respond = () =>
      client.responses
        .create(
          {
            model: 'gpt-5-mini',
            input: 'hello',
            max_output_tokens: 1000,
            metadata: { team: 'search' },
            tools: [{ type: 'function', strict: false, ...tool }],
          },
          { headers: fresh },
        )
        .then(
          () => 200,
          (error: { status: number }) => error.status,
        )
    const ways = [
      () => statusOf(ask(key, 'team=search,nightly')),
      () => statusOf(ask(key, undefined, { metadata: { team: 'search' } })),
      () => statusOf(ask(key, 'team=search', { stream: true })),
      respond,
    ]
    const statuses = await Promise.all(Array.from({ length: 40 }, (_, at) => ways[at % 4]!()))
    // With money that running calls hold, a call is refused as well, to be sent again.
    expect(statuses.filter((status) => status === 200)).to.have.length(3)
    expect(statuses.filter((status) => status === 402 || status === 429)).to.have.length(37)
    for (const way of ways) expect(await way()).to.equal(402)
    const error = await refusalOf(ask(key, 'team=search'))
    expect(error.message).to.match(
      /^The budget of this API key for the tag 'team=search' does not cover this call/,
    )
    const state = (await statesOf(key))['team=search']!
    expect(error.budget).to.deep.equal(state)
    expect(state.owner_id).to.equal(`${id}#team=search`)
    expect(state.spent.nano_usd)
      .to.equal(await costOf('team=search'))
      .and.to.be.above(0)
    expect(state.reserved.nano_usd).to.equal(0)
    // Calls without the tag, and with one that has no budget.
    expect(await statusOf(ask(key, undefined))).to.equal(200)
    expect(await statusOf(ask(key, 'nightly'))).to.equal(200)
    expect(await statusOf(ask(key, 'Team=search'))).to.equal(200)
  })

  it('count a call with two tags in both, and what was spent before they were set', async () => {
    const { id, key } = await newKey()
    expect(await statusOf(ask(key, 'a,b'))).to.equal(200)
    expect(await statusOf(ask(key, 'a'))).to.equal(200)
    expect(await statesOf(key)).to.deep.equal({})
    const budgets = [budget('a', usdOf(10), 'day'), budget('b', usdOf(2.5), 'total')]
    const changed = await read<Schemas['ApiKey']>(
      send('PATCH', `/api/keys/${id}`, { tag_budgets: budgets }),
    )
    const spentIn = (states: TagBudgets) => states.map((one) => one.budget.spent.nano_usd)
    const costs = async () => [await costOf('a'), await costOf('b')]
    // Nothing has opened their windows yet.
    expect(spentIn(changed.tag_budgets)).to.deep.equal(await costs())
    expect(await statusOf(ask(key, 'b,a'))).to.equal(200)
    await refusalOf(ask(key, 'a,b'))
    expect(await statusOf(ask(key, 'a'))).to.equal(200)
    const { data } = await read<Schemas['ApiKeyList']>(send('GET', '/api/keys'))
    const listed = data.find((one) => one.id === id)!.tag_budgets
    expect(spentIn(listed)).to.deep.equal(await costs())
    expect(listed.map((one) => [one.tag, one.budget.period])).to.deep.equal([
      ['a', 'day'],
      ['b', 'total'],
    ])
    await read(send('PATCH', `/api/keys/${id}`, { tag_budgets: [] }))
    expect(await statusOf(ask(key, 'a,b'))).to.equal(200)
  })

  it('stop pictures, and tools of the tool server', async () => {
    const { key } = await newKey(budget('agent', '0'), budget('used', '5'))
    const image = (tags: string) =>
      gateway.post(
        '/v1/images/generations',
        { model: 'gpt-image-1-mini', prompt: 'a fox' },
        { key, headers: { ...fresh, 'x-gateway-tags': tags } },
      )
    const { message } = await refusalOf(image('used,agent'))
    expect(message).to.include("for the tag 'agent'")
    expect(await statusOf(image('used'))).to.equal(200)
    const withTags = (tags: string) =>
      connectSession({ url: gateway.url }, key, {
        fetch: (url, init) => {
          const headers = new Headers(init?.headers)
          headers.set('x-gateway-tags', tags)
          return fetch(url, { ...init, headers })
        },
      })
    const stopped = await withTags('agent')
    const going = await withTags('used')
    const calls = [
      ['chat', { model: 'gpt-5-mini', messages: hello, max_tokens: 1000 }],
      ['generate-image', { model: 'gpt-image-1-mini', prompt: 'a fox' }],
    ] as const
    for (const [name, args] of calls) {
      const refused = await callTool(stopped.client, name, args)
      expect(refused.isError, name).to.equal(true)
      expect(textOf(refused)).to.include("for the tag 'agent'")
      const answered = await callTool(going.client, name, args)
      expect(answered.isError, textOf(answered)).to.not.equal(true)
    }
    await stopped.client.close()
    await going.client.close()
    const states = await statesOf(key)
    expect(states['used']!.spent.nano_usd)
      .to.equal(await costOf('used'))
      .and.to.be.above(0)
    expect(states['agent']!.spent.nano_usd).to.equal(0)
  })

  it('refuse a call with Retry-After while running calls hold the money', async () => {
    const { key } = await newKey(budget('a', usdOf(1.5)))
    const gate = Promise.withResolvers<void>()
    const usage = { prompt_tokens: 9, completion_tokens: 10, total_tokens: 19 }
    upstream.answer({ ...completion('Hi.', { usage }), after: gate.promise })
    const asked = upstream.requests.length
    const first = statusOf(ask(key, 'a'))
    await until('the vendor is asked', () => upstream.requests.length > asked)
    expect((await statesOf(key))['a']!.reserved.nano_usd).to.be.above(0)
    const { message, retryAfter } = await refusalOf(ask(key, 'a'), 429)
    expect(retryAfter).to.equal('2')
    expect(message).to.include("for the tag 'a'").and.to.include('hold the money')
    gate.resolve()
    expect(await first).to.equal(200)
    expect(await statusOf(ask(key, 'a'))).to.equal(200)
    expect((await statesOf(key))['a']!.spent.nano_usd).to.equal(await costOf('a'))
  })

  it('are not charged for cached answers', async () => {
    const { key } = await newKey(budget('a', '5'))
    const asked = () =>
      gateway.post(
        '/v1/chat/completions',
        { model: 'gpt-5-mini', messages: hello, temperature: 0, max_completion_tokens: 1000 },
        { key, headers: { 'x-gateway-tags': 'a' } },
      )
    expect(await statusOf(asked())).to.equal(200)
    const { spent } = (await statesOf(key))['a']!
    const again = await asked()
    expect(again.headers.get('x-gateway-cache')).to.equal('hit')
    expect((await statesOf(key))['a']!.spent).to.deep.equal(spent)
    expect(spent.nano_usd)
      .to.equal(await costOf('a'))
      .and.to.be.above(0)
  })

  it('go with a rotated key, and hold for keys that a limited key makes', async () => {
    const first = await newKey(budget('a', usdOf(2.5), 'total'))
    expect(await statusOf(ask(first.key, 'a'))).to.equal(200)
    const second = await read<Created>(send('POST', `/api/keys/${first.id}/rotate`, {}), 201)
    expect(second.tag_budgets[0]!.budget.spent.nano_usd).to.equal(await costOf('a'))
    expect(await statusOf(ask(second.key, 'a'))).to.equal(200)
    for (const { key } of [first, second]) await refusalOf(ask(key, 'a'))
    const issuer = await read<Created>(
      make([budget('a', '1')], { scopes: ['inference', 'keys:write'] }),
      201,
    )
    for (const budgets of [[], [budget('a', '2')], [budget('a', '1', 'day')], [budget('b', '1')]]) {
      const answer = await make(budgets, {}, issuer.key)
      const tooWide = { status: 403, code: 'insufficient_scope', param: 'tag_budgets' }
      const { message } = await expectError(answer, tooWide)
      expect(message).to.include("its own budget for the tag 'a'")
    }
    const made = await read<Created>(
      send('POST', '/api/keys', { name: 'made', mode: 'live' }, issuer.key),
      201,
    )
    expect(made.tag_budgets[0]!.budget).to.deep.equal(issuer.tag_budgets[0]!.budget)
    expect(await statusOf(ask(made.key, 'a'))).to.equal(200)
    const { spent } = (await statesOf(issuer.key))['a']!
    expect(spent.nano_usd).to.be.above(0)
    expect((await statesOf(made.key))['a']!.spent).to.deep.equal(spent)
  })
})
