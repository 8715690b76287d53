import { expect } from 'chai'
import { Webhook } from 'standardwebhooks'
import { forEachStore } from '../support/each-store.ts'
import { completion } from '../support/chat-answers.ts'
import { ended, startBackground } from '../support/background.ts'
import { openAiClient } from '../support/openai-client.ts'
import { startOwnEndpoint, type OwnEndpoint } from '../support/own-endpoint.ts'
import { startPublicHost, type PublicHost } from '../support/public-host.ts'
import { until } from '../support/until.ts'
import {
  attempted,
  createWebhook,
  deliveriesOf,
  publish,
  type Created,
} from '../support/webhooks.ts'

const [secondMs, minuteMs, hourMs] = [1000, 60_000, 3_600_000]
/** The dates of the tests are not those of the machine. */
const anyAge = 10 * 365 * 86_400

forEachStore('the deliveries of webhooks', (kind) => {
  let host: PublicHost
  let shared: OwnEndpoint
  let own: OwnEndpoint
  let now = Date.parse('2026-11-22T12:00:00Z')
  before(async () => {
    host = await startPublicHost()
    shared = await startOwnEndpoint({
      publicNet: { ...host.net, connectTimeoutMs: 500 },
      bounds: { webhookLookMs: 10 },
      clock: () => now,
    })
  })
  after(async () => {
    await shared.stop()
    await host.stop()
  })
  beforeEach(async () => {
    host.reset()
    own = await shared.inNewAccount()
  })

  const answering = (...statuses: number[]) => {
    host.serve('/hook', (response) => {
      response.writeHead(statuses.length > 1 ? statuses.shift()! : statuses[0]!).end()
    })
  }
  const created = (more = {}) => createWebhook(own.gateway, host.address('/hook'), more)
  const received = (): PublicHost['requests'][number] => host.requests.at(-1)!
  const verified = (secret: string, { body, headers } = received()) => {
    const client = openAiClient(own.gateway, own.gateway.liveKey)
    return client.webhooks.unwrap(body, headers, secret, anyAge)
  }
  const whenDue = async (webhook: Created, count: number, pauseMs: number) => {
    now += pauseMs - 1
    const { attempts } = (await deliveriesOf(own.gateway, webhook))[0]!
    expect(attempts).to.have.length(count - 1)
    now += 1
    return attempted(own.gateway, webhook, count)
  }

  it('reach a receiver through three failures, with one id, and verify with the official clients', async () => {
    answering(503, 500, 400, 200)
    const webhook = await created()
    own.upstream.answer(completion('Hello.'))
    const { id } = await startBackground(own.gateway)
    await ended(own.gateway, id)
    await attempted(own.gateway, webhook, 1)
    await whenDue(webhook, 2, 5 * secondMs)
    await whenDue(webhook, 3, 5 * minuteMs)
    const delivery = await whenDue(webhook, 4, 30 * minuteMs)
    expect(delivery).to.deep.include({ state: 'delivered', next_attempt_at: null, object_id: id })
    expect(delivery.attempts.map(({ status, error }) => [status, error])).to.deep.equal([
      [503, 'The receiver answered 503.'],
      [500, 'The receiver answered 500.'],
      [400, 'The receiver answered 400.'],
      [200, null],
    ])
    const ids = host.requests.map(({ headers }) => headers['webhook-id'])
    expect(ids).to.deep.equal([delivery.id, delivery.id, delivery.id, delivery.id])
    for (const { headers, body } of host.requests) {
      const event = await verified(webhook.secret, { path: '', headers, body })
      const { timestamp, ...rest } = event as unknown as Record<string, unknown>
      expect(rest).to.deep.equal({ type: 'response.completed', data: { id } })
      expect(timestamp).to.equal(delivery.created_at)
      expect(headers).to.include({ 'content-type': 'application/json' })
    }
    // The library of Standard Webhooks accepts no other age than five minutes.
    const { body, headers } = received()
    expect(() => new Webhook(webhook.secret).verify(body, headers)).to.throw(/timestamp/i)
    const other = webhook.secret.replace(/_./, (start) => (start === '_A' ? '_B' : '_A'))
    await expectRejected(() => verified(other, received()))
    await expectRejected(() => verified(webhook.secret, { ...received(), body: `${body} ` }))
  })

  it('are retried on the whole schedule, and then fail', async () => {
    answering(500)
    const webhook = await created()
    await publish(own.gateway, webhook, now)
    await attempted(own.gateway, webhook, 1)
    const pauses = [5 * secondMs, 5 * minuteMs, 30 * minuteMs, 2 * hourMs, 5 * hourMs, 10 * hourMs]
    for (const [index, pauseMs] of pauses.entries()) await whenDue(webhook, index + 2, pauseMs)
    const [delivery] = await deliveriesOf(own.gateway, webhook)
    expect(delivery).to.include({ state: 'failed', next_attempt_at: null })
    answering(200)
    const path = `/api/webhooks/${webhook.id}/deliveries/${delivery!.id}/redeliver`
    const again = await own.gateway.post(path, {}, { key: own.gateway.adminKey })
    expect(again.status).to.equal(202)
    const { state } = await attempted(own.gateway, webhook, 8)
    expect([state, received().headers['webhook-id']]).to.deep.equal(['delivered', delivery!.id])
  })

  it('are announced for failed responses, and only to webhooks of the mode and type', async () => {
    answering(200)
    const failures = await created({ events: ['response.failed'] })
    const others = [
      await created({ mode: 'test' }),
      await created({ events: ['image.job.failed'] }),
    ]
    own.upstream.answer({ status: 400, body: { error: { message: 'No.' } } })
    const { id } = await startBackground(own.gateway)
    await ended(own.gateway, id)
    const delivery = await attempted(own.gateway, failures, 1)
    expect(delivery).to.include({ type: 'response.failed', object_id: id })
    for (const webhook of others) expect(await deliveriesOf(own.gateway, webhook)).to.be.empty
  })

  it('are announced for image jobs', async () => {
    // Without a bucket, a gateway on PostgreSQL makes no jobs.
    if (kind === 'postgres') return
    answering(200)
    const webhook = await created({
      mode: 'test',
      events: ['image.job.completed', 'image.job.failed'],
    })
    const jobs: string[] = []
    for (const prompt of ['A fox', 'A fox sandbox:content-policy']) {
      const headers = { prefer: 'respond-async' }
      const response = await own.gateway.post('/v1/images/generations', { prompt }, { headers })
      expect(response.status).to.equal(202)
      jobs.push(((await response.json()) as { id: string }).id)
      await until('the end is received', () => host.requests.length === jobs.length)
    }
    const events = host.requests.map(({ body }) => JSON.parse(body) as Record<string, unknown>)
    expect(events.map(({ type, data }) => [type, data])).to.deep.equal([
      ['image.job.completed', { id: jobs[0] }],
      ['image.job.failed', { id: jobs[1] }],
    ])
    expect(await verified(webhook.secret)).to.deep.include({ data: { id: jobs[1] } })
  })

  it('end with the webhook when the receiver answers 410, which the audit log reports', async () => {
    answering(410)
    const webhook = await created()
    now += 1
    await publish(own.gateway, webhook, now + hourMs)
    await publish(own.gateway, webhook, now)
    await until('the webhook is disabled', async () => {
      const { enabled, gone_at: goneAt } = await retrieve(webhook)
      return !enabled && goneAt !== null
    })
    const states = (await deliveriesOf(own.gateway, webhook)).map(({ state }) => state)
    expect(states).to.deep.equal(['failed', 'failed'])
    await publish(own.gateway, webhook, now)
    expect(await deliveriesOf(own.gateway, webhook)).to.have.length(2)
    expect(host.requests).to.have.length(1)
    const path = `/api/audit?target=${webhook.id}&action=webhook.update`
    const log = await (await own.gateway.fetch(path, { key: own.gateway.adminKey })).json()
    expect(log).to.have.nested.property('data.0.by', 'gateway')
    expect(log).to.have.nested.property('data.0.after.enabled', false)
  })

  const pauses = [
    { of: 'a longer Retry-After', header: '120', pauseMs: 120 * secondMs },
    { of: 'a shorter Retry-After', header: '1', pauseMs: 5 * secondMs },
    { of: 'an absurd Retry-After', header: '99999999', pauseMs: 10 * hourMs },
    { of: 'a Retry-After without sense', header: 'soon', pauseMs: 5 * secondMs },
  ]
  for (const { of, header, pauseMs } of pauses)
    it(`are retried after 429 with ${of}`, async () => {
      let status = 429
      host.serve('/hook', (response) => {
        response.writeHead(status, { 'retry-after': header }).end()
        status = 200
      })
      const webhook = await created()
      await publish(own.gateway, webhook, now)
      await attempted(own.gateway, webhook, 1)
      expect(await whenDue(webhook, 2, pauseMs)).to.include({ state: 'delivered' })
    })

  it('are signed with both secrets for a day after a rotation', async () => {
    answering(200)
    const webhook = await created()
    const rotate = async () => {
      const path = `/api/webhooks/${webhook.id}/rotate`
      return (await (
        await own.gateway.post(path, {}, { key: own.gateway.adminKey })
      ).json()) as Created
    }
    const second = await rotate()
    const send = async () => {
      const count = host.requests.length
      await publish(own.gateway, webhook, now)
      await until('the event is received', () => host.requests.length > count)
    }
    await send()
    expect(second.secret).not.to.equal(webhook.secret)
    for (const { secret } of [webhook, second]) await verified(secret)
    const third = await rotate()
    await send()
    await expectRejected(() => verified(webhook.secret))
    for (const { secret } of [second, third]) await verified(secret)
    now += 24 * hourMs
    await send()
    await expectRejected(() => verified(second.secret))
    await verified(third.secret)
    expect(await retrieve(webhook)).to.include({ previous_secret_until: null })
  })

  it('of a test event are tried once, also if the webhook is disabled', async () => {
    answering(500, 200)
    const webhook = await created()
    const test = () =>
      own.gateway.post(`/api/webhooks/${webhook.id}/test`, {}, { key: own.gateway.adminKey })
    expect((await test()).status).to.equal(202)
    expect(await attempted(own.gateway, webhook, 1)).to.include({ state: 'failed' })
    await own.gateway.fetch(`/api/webhooks/${webhook.id}`, {
      method: 'PATCH',
      key: own.gateway.adminKey,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ enabled: false }),
    })
    await test()
    await until('the second was sent', () => host.requests.length === 2)
    expect(await verified(webhook.secret)).to.deep.include({
      type: 'webhook.test',
      data: { id: webhook.id },
    })
  })

  it('are not lost when the clock is set back or forward', async () => {
    answering(500, 200)
    const webhook = await created()
    now += 40 * 86_400_000
    await publish(own.gateway, webhook, now)
    await attempted(own.gateway, webhook, 1)
    now -= 40 * 86_400_000
    // The sweep of another process, ten minutes later.
    await own.gateway.db
      .updateTable('webhook_deliveries')
      .set({ next_at: now })
      .where('webhook_id', '=', webhook.id)
      .execute()
    expect(await attempted(own.gateway, webhook, 2)).to.include({ state: 'delivered' })
  })

  const retrieve = async ({ id }: Created) => {
    const response = await own.gateway.fetch(`/api/webhooks/${id}`, { key: own.gateway.adminKey })
    return (await response.json()) as Created
  }
})

async function expectRejected(run: () => Promise<unknown>): Promise<void> {
  const error = await run().then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expect(error).to.be.instanceOf(Error)
}
