import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { expect } from 'chai'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { startMailbox, type Mailbox } from '../support/mailbox.ts'
import { startPublicHost, type PublicHost } from '../support/public-host.ts'
import { serveSlack } from '../support/slack.ts'
import { attempted, createWebhook } from '../support/webhooks.ts'

const events = ['alert.budget_reached' as const]
const slackPath = '/services/T000/B000/a-secret'

describe('alerts by Slack and mail', () => {
  let host: PublicHost
  let mailbox: Mailbox
  let shared: TestGateway
  let gateway: TestGateway
  before(async () => {
    host = await startPublicHost()
    mailbox = await startMailbox()
    const variables = { SMTP_URL: mailbox.url, MAIL_FROM: 'gateway@gateway.example' }
    const bounds = { webhookLookMs: 10 }
    shared = await startGateway({ bounds, variables, publicNet: host.net })
  })
  after(async () => {
    await shared.stop()
    await mailbox.stop()
    await host.stop()
  })
  beforeEach(async () => {
    host.reset()
    serveSlack(host, slackPath)
    mailbox.mails.length = 0
    mailbox.refuse(undefined)
    gateway = await shared.inNewAccount()
  })

  const create = (more: object) => createWebhook(gateway, 'unset', { events, ...more })
  const creating = (more: object) =>
    gateway.post(
      '/api/webhooks',
      { name: 'ops', url: host.address(slackPath), mode: 'live', events, ...more },
      { key: gateway.adminKey },
    )

  it('are sent as a test to each kind of address', async () => {
    const kinds = [
      await create({ kind: 'slack', url: host.address(slackPath) }),
      await create({ kind: 'email', url: 'mailto:ops@team.example' }),
    ]
    for (const { id, secret } of kinds) {
      expect(secret).to.equal('')
      await gateway.post(`/api/webhooks/${id}/test`, {}, { key: gateway.adminKey })
      expect(await attempted(gateway, { id }, 1)).to.include({ state: 'delivered' })
    }
    expect(mailbox.mails[0]?.source).to.include('Subject: Test alert')
  })

  it('show what the mail server refused, without its words', async () => {
    mailbox.refuse(550)
    const { id } = await create({ kind: 'email', url: 'mailto:nobody@team.example' })
    await gateway.post(`/api/webhooks/${id}/test`, {}, { key: gateway.adminKey })
    const { attempts } = await attempted(gateway, { id }, 1)
    expect(attempts[0]?.error).to.equal('The mail server refused the mail (550, EENVELOPE).')
  })

  it('keep the address of Slack secret, also when it changes', async () => {
    const { id, url } = await create({ kind: 'slack', url: host.address(slackPath) })
    expect(url).to.equal(new URL(host.address('/')).origin)
    serveSlack(host, '/services/next')
    const body = JSON.stringify({ url: host.address('/services/next') })
    const headers = { 'content-type': 'application/json' }
    const init = { method: 'PATCH', body, headers, key: gateway.adminKey }
    const changed = await gateway.fetch(`/api/webhooks/${id}`, init)
    expect(await changed.json()).to.include({ url })
    await gateway.post(`/api/webhooks/${id}/test`, {}, { key: gateway.adminKey })
    await attempted(gateway, { id }, 1)
    expect(host.requests.at(-1)?.path).to.equal('/services/next')
    const rows = await gateway.db.selectFrom('webhooks').selectAll().where('id', '=', id).execute()
    const stored = JSON.stringify([
      rows,
      await gateway.db.selectFrom('audit_events').selectAll().execute(),
    ])
    expect(`${stored}${gateway.logText()}`).not.to.match(/services|a-secret/)
    const rotated = await gateway.post(`/api/webhooks/${id}/rotate`, {}, { key: gateway.adminKey })
    await expectError(rotated, { status: 400, code: 'invalid_value', param: 'id' })
  })

  const refusals: [string, object, string, RegExp][] = [
    ['a private address of Slack', { kind: 'slack', url: 'https://10.0.0.1/' }, 'url', /./],
    ['two mailboxes', { kind: 'email', url: 'mailto:a@b.example,c@d.example' }, 'url', /one mail/],
    [
      'header fields',
      { kind: 'email', url: 'mailto:a@b.example?bcc=c@d.example' },
      'url',
      /one mail/,
    ],
    [
      'a line break',
      { kind: 'email', url: 'mailto:a@b.example\nBcc: c@d.example' },
      'url',
      /one mail/,
    ],
    [
      'events of pictures by mail',
      { kind: 'email', url: 'mailto:a@b.example', events: ['image.job.failed'] },
      'events',
      /alerts only/,
    ],
    ['alerts in test mode', { mode: 'test' }, 'events', /live calls/],
  ]
  for (const [what, more, param, message] of refusals)
    it(`are refused for ${what}`, async () => {
      const answer = await creating(more)
      const error = await expectError(answer, { status: 400, code: 'invalid_value', param })
      expect(error.message).to.match(message)
    })

  it('fail in time when the mail server is silent', async () => {
    const silent = createServer().listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const { port } = silent.address() as AddressInfo
    const variables = { SMTP_URL: `smtp://127.0.0.1:${port}`, MAIL_FROM: 'a@b.example' }
    const bounds = { webhookLookMs: 10, webhookAnswerTimeoutMs: 300 }
    await using waiting = await startGateway({ variables, bounds })
    const more = { kind: 'email', events } as const
    const { id } = await createWebhook(waiting, 'mailto:ops@team.example', more)
    await waiting.post(`/api/webhooks/${id}/test`, {}, { key: waiting.adminKey })
    const { attempts } = await attempted(waiting, { id }, 1)
    silent.close()
    expect(attempts[0]?.error).to.equal('The mail server did not answer within 0.3 seconds.')
  })

  it('do not send a password over a connection without TLS', async () => {
    const [SMTP_URL, MAIL_FROM] = [mailbox.url.replace('://', '://user:secret@'), 'a@b.example']
    await using open = await startGateway({
      variables: { SMTP_URL, MAIL_FROM },
      bounds: { webhookLookMs: 10 },
    })
    const more = { kind: 'email', events } as const
    const { id } = await createWebhook(open, 'mailto:ops@team.example', more)
    await open.post(`/api/webhooks/${id}/test`, {}, { key: open.adminKey })
    const { attempts } = await attempted(open, { id }, 1)
    expect(attempts[0]?.error).to.equal('The mail server refused the mail (500, ETLS).')
    expect(mailbox.mails).to.deep.equal([])
  })

  it('are refused by mail where the operator has no mail server', async () => {
    await using without = await startGateway()
    const body = { kind: 'email', name: 'ops', url: 'mailto:a@b.example', mode: 'live', events }
    const answer = await without.post('/api/webhooks', body, { key: without.adminKey })
    const error = await expectError(answer, { status: 400, code: 'invalid_value', param: 'kind' })
    expect(error.message).to.include('SMTP_URL')
  })
})
