import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { storePath } from '../../src/storage/store.ts'
import {
  complaints,
  contract,
  resolve,
  strictComplaints,
  type Parameter,
} from '../support/contract.ts'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { startPublicHost, type PublicHost } from '../support/public-host.ts'
import { until } from '../support/until.ts'
import { attempted, createWebhook, deliveriesOf, publish } from '../support/webhooks.ts'

describe('the webhooks of an account', () => {
  let host: PublicHost
  let shared: TestGateway
  let gateway: TestGateway
  before(async () => {
    host = await startPublicHost()
    shared = await startGateway({ publicNet: host.net, bounds: { webhookLookMs: 10 } })
  })
  after(async () => {
    await shared.stop()
    await host.stop()
  })
  beforeEach(async () => {
    host.reset()
    gateway = await shared.inNewAccount()
  })

  const key = () => ({ key: gateway.adminKey })
  const newWebhook = (url: string) => {
    const more = { mode: 'live', events: ['response.completed'] }
    return gateway.post('/api/webhooks', { name: 'server', url, ...more }, key())
  }
  const json = async (path: string, init = {}) =>
    (await (await gateway.fetch(path, { ...key(), ...init })).json()) as Record<string, unknown>
  const patch = (id: string, body: object) =>
    gateway.fetch(`/api/webhooks/${id}`, {
      ...key(),
      method: 'PATCH',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })

  const refused = [
    ['a loopback address', 'https://127.0.0.1/hook', /The address is not public\./],
    ['a loopback address in IPv6', 'https://[::1]/hook', /The address is not public\./],
    ['a mapped address', 'https://[::ffff:10.0.0.1]/hook', /The address is not public\./],
    ['the metadata address of clouds', 'https://169.254.169.254/', /The address is not public\./],
    ['an unusual spelling', 'https://0x7f000001/hook', /The address is not public\./],
    ['a private name', 'https://redis.internal/hook', /resolves to an address that is not public/],
    ['plain HTTP', 'http://shop.example/hook', /Only https addresses/],
    ['another scheme', 'file:///etc/passwd', /Only https addresses/],
    ['no address', 'nonsense', /Only https addresses/],
    ['a password', 'https://a:b@shop.example/hook', /a user name or password/],
    ['another port', 'https://shop.example:8443/hook', /Only port 443/],
  ] as const
  for (const [what, url, message] of refused)
    it(`are not created for ${what}`, async () => {
      const address = url.startsWith('https:') && new URL(url).port === '' ? portOf(url) : url
      const response = await newWebhook(address)
      const { message: text } = await expectError(response, { ...invalid, param: 'url' })
      expect(text).to.match(message)
      expect(host.insideConnections()).to.equal(0)
    })
  const portOf = (url: string) => {
    const { href } = Object.assign(new URL(url), { port: String(host.port) })
    return href
  }

  // alerts.spec.ts compares alerts.
  const own = Object.entries(contract.webhooks).filter(([type]) => !type.startsWith('alert.'))
  for (const [type, { post }] of own)
    it(`receive ${type} in the form of the contract`, async () => {
      host.serve('/hook', (response) => response.writeHead(204).end())
      const isTest = type === 'webhook.test'
      const events = (isTest ? ['response.completed'] : [type]) as never
      const webhook = await createWebhook(gateway, host.address('/hook'), { events })
      if (isTest) await gateway.post(`/api/webhooks/${webhook.id}/test`, {}, key())
      else await publish(gateway, webhook, Date.parse(webhook.created_at), { type: type as never })
      await attempted(gateway, webhook, 1)
      const { body, headers } = host.requests.at(-1)!
      const { schema } = post.requestBody.content['application/json']!
      expect(strictComplaints(schema, JSON.parse(body))).to.deep.equal([])
      expect(JSON.parse(body)).to.include({ type })
      expect(headers['content-type']).to.equal('application/json')
      const parameters = (post.parameters ?? []).map((one) => resolve<Parameter>(one))
      expect(parameters.filter(({ required }) => required)).to.have.length(3)
      for (const parameter of parameters)
        expect(complaints(parameter.schema, headers[parameter.name])).to.deep.equal([])
    })

  it('are not moved to a private address', async () => {
    const webhook = await createWebhook(gateway, host.address('/hook'))
    const response = await patch(webhook.id, { url: portOf('https://10.0.0.1/') })
    await expectError(response, { ...invalid, param: 'url' })
    expect(await json(`/api/webhooks/${webhook.id}`)).to.include({ url: webhook.url })
  })

  it('show their secret once, and keep it out of the store, lists, logs and errors', async () => {
    host.serve('/hook', (response) => response.writeHead(500).end())
    const webhook = await createWebhook(gateway, host.address('/hook'))
    expect(webhook.secret).to.match(/^whsec_[A-Za-z0-9+/]{43}=$/)
    const rotated = await json(`/api/webhooks/${webhook.id}/rotate`, { method: 'POST' })
    await publish(gateway, webhook, Date.parse(webhook.created_at))
    await attempted(gateway, webhook, 1)
    const paths = ['/api/webhooks', `/api/webhooks/${webhook.id}`, '/api/audit']
    const shown = await Promise.all(paths.map((path) => json(path)))
    const listed = JSON.stringify([...shown, await deliveriesOf(gateway, webhook)])
    for (const secret of [webhook.secret, String(rotated['secret'])]) {
      const raw = secret.slice('whsec_'.length)
      expect(listed).not.to.include(raw)
      expect(gateway.logText()).not.to.include(raw)
      for (const end of ['', '-wal']) {
        const bytes = readFileSync(storePath(gateway.dataDir) + end)
        expect(bytes.includes(raw)).to.equal(false)
        expect(bytes.includes(Buffer.from(raw, 'base64'))).to.equal(false)
      }
    }
  })

  it('are written to the audit log with each change, without path and query of the address', async () => {
    const { id } = await createWebhook(gateway, host.address('/hook/secret-path?token=secret'))
    await patch(id, { name: 'other', enabled: false })
    await gateway.fetch(`/api/webhooks/${id}/rotate`, { method: 'POST', ...key() })
    await gateway.fetch(`/api/webhooks/${id}`, { method: 'DELETE', ...key() })
    const { data } = (await json(`/api/audit?target=${id}&order=asc`)) as { data: Audit[] }
    expect(data.map(({ action }) => action)).to.deep.equal([
      'webhook.create',
      'webhook.update',
      'webhook.rotate',
      'webhook.delete',
    ])
    expect(data[1]!.before).to.include({ name: 'server', enabled: true })
    expect(data[1]!.after).to.include({ name: 'other', enabled: false })
    expect(JSON.stringify(data)).not.to.include('secret-path').and.not.to.include('token')
  })

  it('of another account are not found', async () => {
    const webhook = await createWebhook(gateway, host.address('/hook'))
    await publish(gateway, webhook, 1)
    const other = await shared.inNewAccount()
    const init = { key: other.adminKey }
    const body = { ...init, body: '{}', headers: { 'content-type': 'application/json' } }
    const requests = [
      ['', init],
      ['', { ...body, method: 'PATCH' }],
      ['', { ...init, method: 'DELETE' }],
      ['/rotate', { ...init, method: 'POST' }],
      ['/test', { ...init, method: 'POST' }],
      ['/deliveries', init],
      ['/deliveries/evt_1/redeliver', { ...init, method: 'POST' }],
    ] as const
    for (const [path, request] of requests)
      await expectError(await other.fetch(`/api/webhooks/${webhook.id}${path}`, request), {
        ...missing,
        param: 'id',
      })
    const list = await (await other.fetch('/api/webhooks', init)).json()
    expect(list).to.deep.include({ data: [] })
    const path = `/api/webhooks/${webhook.id}/deliveries/evt_1/redeliver`
    const response = await gateway.fetch(path, { method: 'POST', ...key() })
    await expectError(response, { ...missing, param: 'delivery_id' })
  })

  it('are at most twenty', async () => {
    for (let count = 0; count < 20; count++) await createWebhook(gateway, host.address('/hook'))
    const { message } = await expectError(await newWebhook(host.address('/hook')), invalid)
    expect(message).to.match(/An account can have 20 webhooks\. Delete one first\./)
  })

  it('do not deliver again while they are disabled, and end what was pending', async () => {
    host.serve('/hook', (response) => response.writeHead(500).end())
    const webhook = await createWebhook(gateway, host.address('/hook'))
    await publish(gateway, webhook, Date.parse(webhook.created_at))
    const { id } = await attempted(gateway, webhook, 1)
    await patch(webhook.id, { enabled: false })
    expect((await deliveriesOf(gateway, webhook))[0]).to.include({
      state: 'failed',
      next_attempt_at: null,
    })
    const path = `/api/webhooks/${webhook.id}/deliveries/${id}/redeliver`
    const again = () => gateway.fetch(path, { method: 'POST', ...key() })
    const { message } = await expectError(await again(), invalid)
    expect(message).to.match(/is disabled\. Enable it/)
    await patch(webhook.id, { enabled: true })
    expect((await again()).status).to.equal(202)
    await attempted(gateway, webhook, 2)
  })

  it('are deleted with their deliveries, also one that is under way', async () => {
    let answer = () => undefined as void
    host.serve('/hook', (response) => {
      answer = () => void response.writeHead(200).end()
    })
    const webhook = await createWebhook(gateway, host.address('/hook'))
    await publish(gateway, webhook, Date.parse(webhook.created_at))
    await until('the receiver is called', () => host.requests.length === 1)
    const gone = await gateway.fetch(`/api/webhooks/${webhook.id}`, { method: 'DELETE', ...key() })
    expect(gone.status).to.equal(204)
    answer()
    const rows = await gateway.db
      .selectFrom('webhook_deliveries')
      .select('id')
      .where('webhook_id', '=', webhook.id)
      .execute()
    expect(rows).to.be.empty
  })
})

const invalid = { status: 400, code: 'invalid_value' }
const missing = { status: 404, code: 'not_found' }

type Audit = { action: string; before: object; after: object }
