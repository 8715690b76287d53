import { expect } from 'chai'
import type { components } from '../../generated/types.ts'
import { digestOf } from '../../src/accounts/api-key.ts'
import { completion } from '../support/chat-answers.ts'
import { nanoPerUsd } from '../support/budgets.ts'
import { contract, strictComplaints } from '../support/contract.ts'
import { forEachStore } from '../support/each-store.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { startMailbox, type Mailbox } from '../support/mailbox.ts'
import { serveSlack } from '../support/slack.ts'
import { startOwnEndpoint, type OwnEndpoint } from '../support/own-endpoint.ts'
import { startPublicHost, type PublicHost } from '../support/public-host.ts'
import { until } from '../support/until.ts'
import { usageRow } from '../support/usage-row.ts'
import { attempted, createWebhook, deliveriesOf } from '../support/webhooks.ts'

type Alert = components['schemas']['AlertEvent']
type EventType = components['schemas']['WebhookEventType']

const events: EventType[] = [
  'alert.budget_reached',
  'alert.budget_refused',
  'alert.provider_failing',
  'alert.provider_key_refused',
  'alert.spending_unusual',
]
const bounds = { webhookLookMs: 10, alertSweepMs: 20, keyUseWriteMs: 20, keyCacheMs: 0 }
const file = { routes: { 'gpt-5-mini': ['own/house-1'] } }
const hourMs = 3_600_000
const slackPath = '/services/T000/B000/a-secret'

forEachStore('alerts', () => {
  let host: PublicHost
  let mailbox: Mailbox
  let shared: OwnEndpoint
  let second: TestGateway
  let own: OwnEndpoint
  let gateway: TestGateway
  let now = 0
  /** Each test has an address of its own, since events of the test before it may arrive late. */
  let hook = ''
  let tests = 0
  before(async () => {
    host = await startPublicHost()
    mailbox = await startMailbox()
    const variables = { SMTP_URL: mailbox.url, MAIL_FROM: 'gateway@gateway.example' }
    const options = { bounds, variables, clock: () => now, publicNet: host.net }
    shared = await startOwnEndpoint({ ...options, file })
    second = await startGateway({ ...options, beside: shared.gateway })
  })
  after(async () => {
    await second.stop()
    await shared.stop()
    await mailbox.stop()
    await host.stop()
  })
  beforeEach(async () => {
    now = Date.parse('2026-11-22T12:10:00Z')
    host.reset()
    hook = `/hook/${tests++}`
    host.serve(hook, (response) => response.writeHead(204).end())
    serveSlack(host, slackPath)
    mailbox.mails.length = 0
    mailbox.refuse(undefined)
    own = await shared.inNewAccount()
    gateway = own.gateway
    own.upstream.answer(({ body }) => {
      const { max_completion_tokens: most = 0 } = body as { max_completion_tokens?: number }
      const usage = { prompt_tokens: 0, completion_tokens: most, total_tokens: most }
      return completion('Hi.', { usage })
    })
  })

  const create = (more: object = {}) =>
    createWebhook(gateway, host.address(hook), { events, ...more })
  /** Costs $2 for a million tokens. */
  const ask = async (key: string, tokens: number, tags?: string) => {
    const answer = await own.chat(
      { model: 'gpt-5-mini', max_completion_tokens: tokens },
      { key, headers: { 'cache-control': 'no-store', ...(tags && { 'x-gateway-tags': tags }) } },
    )
    await answer.text()
    return answer.status
  }
  /** The events that arrived; one may arrive again when the clock jumps over the claim of its delivery. */
  const bodies = () => {
    const arrived = host.requests.filter(({ path }) => path === hook)
    return [...new Map(arrived.map(({ headers, body }) => [headers['webhook-id'], body])).values()]
  }
  const received = async (count: number): Promise<Alert[]> => {
    await until(`${count} alerts were received`, () => {
      now += 50
      return bodies().length >= count
    })
    const alerts = bodies().map((body) => JSON.parse(body) as Alert)
    for (const one of alerts) {
      const { post } = contract.webhooks[one.type]!
      const { schema } = post.requestBody.content['application/json']!
      expect(strictComplaints(schema, one)).to.deep.equal([])
    }
    return alerts
  }
  /** Two further sweeps of both gateways have begun and ended after the alerts that are due. */
  const swept = async () => {
    const checks = () =>
      gateway.db.selectFrom('write_checks').select('at').where('id', '=', 'alerts')
    for (let times = 0; times < 3; times++) {
      now += 1000
      const at = now
      await until('the store is swept', async () => {
        return ((await checks().executeTakeFirst())?.at ?? 0) >= at
      })
    }
  }
  const budgetOf = async (nanoUsd: number) => {
    const key = await gateway.createKey('live')
    const named = gateway.db.updateTable('api_keys').set({ name: 'shop <b>' })
    await named.where('digest', '=', digestOf(key)).execute()
    await gateway.allow({ budget_nano_usd: nanoUsd, budget_period: 'month' }, key)
    return key
  }

  it('report each threshold of a budget once, over two processes, by webhook, Slack and mail', async () => {
    const webhook = await create()
    const slacks = await create({ kind: 'slack', url: host.address(slackPath) })
    const mails = await create({ kind: 'email', url: 'mailto:ops@team.example' })
    const key = await budgetOf(nanoPerUsd / 100)
    // 6 of 10 millidollars, then 8.
    expect(await ask(key, 3000)).to.equal(200)
    const [half] = await received(1)
    expect(half).to.include({ type: 'alert.budget_reached' })
    expect(half?.data).to.deep.include({ percent: 50, account_id: webhook.account_id })
    expect(half?.data.budget).to.deep.include({ amount: { usd: '0.01', nano_usd: 10_000_000 } })
    expect(half?.data.text).to.equal(
      "50 % of the budget of the API key 'shop <b>' is used. $0.006 of $0.01 per month is spent, $0.004 is left. It renews at 2026-12-01 00:00 UTC.",
    )
    expect(await ask(key, 1000)).to.equal(200)
    const [, most] = await received(2)
    expect(most?.data).to.include({ percent: 80, subject: half?.data.subject })
    await swept()
    expect(bodies()).to.have.length(2)
    await attempted(gateway, mails, 1)
    await until('mails were received', () => mailbox.mails.length === 2)
    const { from, to, source } = mailbox.mails[0]!
    expect([from, to]).to.deep.equal(['gateway@gateway.example', ['ops@team.example']])
    const [first] = await deliveriesOf(gateway, mails)
    expect(/^Message-ID:\s+<(.+)>/m.exec(source)?.[1]).to.equal(`${first?.id}@gateway.example`)
    expect(source).to.match(/^Subject: Budget threshold reached$/m)
    for (const one of await deliveriesOf(gateway, slacks)) expect(one.state).to.equal('delivered')
    const toSlack = host.requests.find(({ path }) => path === slackPath)!
    expect(JSON.parse(toSlack.body)).to.have.property('text').that.includes("'shop &lt;b&gt;'")
    const { body, headers } = host.requests.find(({ path }) => path === hook)!
    expect(headers).to.include.keys('webhook-id', 'webhook-signature')
    expect(`${body}${source}${toSlack.body}`).not.to.include(key)
  })

  it('report the highest threshold alone when a call passes several, and again for another amount or period', async () => {
    await create()
    const key = await budgetOf(nanoPerUsd / 100)
    expect(await ask(key, 4900)).to.equal(200)
    expect((await received(1))[0]?.data.percent).to.equal(80)
    await swept()
    expect(bodies()).to.have.length(1)
    await gateway.allow({ budget_nano_usd: 0.009 * nanoPerUsd }, key)
    expect((await received(2))[1]?.data.percent).to.equal(100)
    now = Date.parse('2026-12-01T00:10:00Z')
    expect(await ask(key, 2600)).to.equal(200)
    expect((await received(3))[2]?.data.percent).to.equal(50)
  })

  it('report a budget that refuses calls once', async () => {
    await create({ events: ['alert.budget_refused'] })
    const key = await budgetOf(nanoPerUsd / 100)
    expect(await ask(key, 3000)).to.equal(200)
    for (let calls = 0; calls < 3; calls++) expect(await ask(key, 3000)).to.equal(402)
    const [refusal] = await received(1)
    expect(refusal?.type).to.equal('alert.budget_refused')
    expect(refusal?.data.budget?.left.usd).to.equal('0.004')
    expect(refusal?.data.text).to.include("The budget of the API key 'shop <b>' refuses calls")
    await swept()
    expect(bodies()).to.have.length(1)
  })

  it('report the budget of a tag', async () => {
    await create()
    const key = await budgetOf(nanoPerUsd)
    const budget = { tag: 'a=b', nano_usd: nanoPerUsd / 100, period: 'day' }
    const columns = { tag_budgets: JSON.stringify([budget, { ...budget, tag: 'c' }]) }
    const limited = gateway.db.updateTable('api_keys').set(columns).returning('id')
    const { id } = await limited.where('digest', '=', digestOf(key)).executeTakeFirstOrThrow()
    expect(await ask(key, 3000, 'a=b')).to.equal(200)
    expect(await ask(key, 3000, 'a=b')).to.equal(402)
    await received(2)
    await swept()
    const alerts = await received(2)
    expect(alerts.map(({ type }) => type)).to.have.members([
      'alert.budget_reached',
      'alert.budget_refused',
    ])
    for (const { data } of alerts) {
      expect(data.text).to.include("the API key 'shop <b>' for the tag 'a=b'")
      expect(data.subject).to.equal(`${id}#a=b`).and.to.equal(data.budget?.owner_id)
      expect(data.link).to.match(new RegExp(`/keys/${id}$`))
      expect(data.budget?.left.usd).to.equal('0.004')
    }
  })

  it('name the budget that refused, also if another of the key has less left', async () => {
    await create({ events: ['alert.budget_refused'] })
    const key = await budgetOf(nanoPerUsd / 50)
    const tag_budgets = JSON.stringify([{ tag: 'a=b', nano_usd: nanoPerUsd / 100, period: 'day' }])
    const limited = gateway.db.updateTable('api_keys').set({ tag_budgets })
    await limited.where('digest', '=', digestOf(key)).execute()
    expect(await ask(key, 3000, 'a=b')).to.equal(200)
    expect(await ask(key, 8000)).to.equal(402)
    const [refusal] = await received(1)
    expect(refusal?.data.text).to.include("The budget of the API key 'shop <b>' refuses calls")
    expect(refusal?.data.budget?.left.usd).to.equal('0.014')
    await swept()
    expect(bodies()).to.have.length(1)
  })

  it('report the budget of a person', async () => {
    const { account_id: account } = await create()
    const ada = await gateway.people.signIn({ email: 'ada@example.com' })
    const key = await gateway.createKey('live')
    const made = gateway.db.updateTable('api_keys').set({ created_by: ada.personId })
    await made.where('digest', '=', digestOf(key)).execute()
    const limited = gateway.db
      .updateTable('members')
      .set({ budget_nano_usd: nanoPerUsd / 100, budget_period: 'month' })
    await limited.where('person_id', '=', ada.personId).execute()
    expect(await ask(key, 4500)).to.equal(200)
    expect(await ask(key, 3000)).to.equal(402)
    const alerts = await received(2)
    const people = gateway.db.selectFrom('people').select('name')
    const { name } = await people.where('id', '=', ada.personId).executeTakeFirstOrThrow()
    const reached = alerts.find(({ type }) => type === 'alert.budget_reached')
    expect(reached?.data.percent).to.equal(80)
    for (const { data } of alerts) {
      expect(data.text).to.include(`the member '${name}'`)
      expect(data.subject).to.equal(`${account}:${ada.personId}`)
      expect(data.link).to.match(/\/settings\/members$/)
    }
  })

  it('report a provider that fails, and one that refuses its key, to the account whose calls failed', async () => {
    await create()
    await swept()
    own.upstream.answer({ status: 503, body: '{}' })
    // Attempts are counted from the next sweep of this process.
    await until('a failing provider is reported', async () => {
      now += 50
      await ask(gateway.liveKey, 10)
      return bodies().length > 0
    })
    const [failing] = await received(1)
    expect(failing?.type).to.equal('alert.provider_failing')
    expect(failing?.data).to.include({ subject: 'own' })
    expect(failing?.data.text).to.match(
      /^The provider 'own' fails: (\d+) of \1 attempts since 12:\d\d UTC, most of them with overloaded\.$/,
    )
    now += hourMs
    own.upstream.answer({
      status: 401,
      body: '{"error":{"message":"Incorrect API key sk-own-0123"}}',
    })
    await ask(gateway.liveKey, 10)
    const [, refused] = await received(2)
    expect(refused?.type).to.equal('alert.provider_key_refused')
    expect(refused?.data.text).not.to.include('sk-own')
  })

  it('report an hour far above the same hours of yesterday and of a week ago', async () => {
    await create({ events: ['alert.spending_unusual'] })
    const { account_id: accountId } = await create({
      name: 'not asked',
      events: ['alert.budget_reached'],
    })
    const spend = (id: string, at: number, usd: number) =>
      gateway.addUsage([
        {
          ...usageRow(id, at),
          account_id: accountId,
          mode: 'live',
          cost_nano_usd: usd * nanoPerUsd,
        },
      ])
    await spend('req_1', now - 24 * hourMs, 1)
    await spend('req_2', now - 7 * 24 * hourMs, 2)
    await spend('req_3', now, 6)
    await swept()
    expect(bodies()).to.deep.equal([])
    await spend('req_4', now, 0.5)
    const [unusual] = await received(1)
    expect(unusual?.data.text).to.match(
      /has spent \$6\.50 since 2026-11-22 12:00 UTC\. The same whole hour cost \$1\.00 yesterday and \$2\.00 a week ago\.$/,
    )
  })
})
