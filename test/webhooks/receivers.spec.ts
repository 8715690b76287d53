import { expect } from 'chai'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { startPublicHost, type PublicHost } from '../support/public-host.ts'
import { until } from '../support/until.ts'
import { attempted, createWebhook, publish } from '../support/webhooks.ts'

type Answer = Parameters<Exclude<Parameters<PublicHost['serve']>[1], Buffer>>[0]

describe('the receivers of webhooks', () => {
  let host: PublicHost
  let shared: TestGateway
  let gateway: TestGateway
  let now = Date.parse('2026-11-22T12:00:00Z')
  before(async () => {
    host = await startPublicHost()
    shared = await startGateway({
      publicNet: { ...host.net, connectTimeoutMs: 500 },
      bounds: { webhookLookMs: 10, webhookAnswerTimeoutMs: 300 },
      clock: () => now,
    })
  })
  after(async () => {
    await shared.stop()
    await host.stop()
  })
  beforeEach(async () => {
    host.reset()
    gateway = await shared.inNewAccount()
  })

  const created = () => createWebhook(gateway, host.address('/hook'))

  const failures = [
    {
      of: 'that redirects',
      script: (response: Answer) =>
        response.writeHead(307, { location: host.address('/elsewhere') }).end(),
      status: 307,
      error: 'The receiver answered 307; redirects are not followed.',
    },
    {
      of: 'that does not answer in time',
      script: () => undefined,
      status: null,
      error: 'The receiver did not answer within 0.3 seconds.',
    },
    {
      of: 'that closes the connection',
      script: (response: Answer) => response.destroy(),
      status: null,
      error: 'The receiver cannot be reached (UND_ERR_SOCKET).',
    },
    {
      of: 'with endless headers',
      script: (response: Answer) => {
        response.socket!.write(`HTTP/1.1 200 OK\r\nx-endless: ${'x'.repeat(1_000_000)}`)
      },
      status: null,
      error: 'The receiver cannot be reached (UND_ERR_HEADERS_OVERFLOW).',
    },
  ]
  for (const { of, script, status, error } of failures)
    it(`cause a failed attempt if they are one ${of}`, async () => {
      host.serve('/hook', script)
      const webhook = await created()
      await publish(gateway, webhook, now)
      const { state, attempts } = await attempted(gateway, webhook, 1)
      expect(state).to.equal('pending')
      expect(attempts[0]).to.include({ status, error })
      expect(host.requests).to.have.length(1)
      expect(host.insideConnections()).to.equal(0)
    })

  it('may send an endless body, which is not read', async () => {
    let sent = 0
    let closed = false
    host.serve('/hook', (response) => {
      response.writeHead(200)
      response.on('close', () => (closed = true))
      const send = () => {
        if (closed || sent > 50_000_000) return
        sent += 65_536
        if (response.write(Buffer.alloc(65_536))) setImmediate(send)
        else response.once('drain', send)
      }
      send()
    })
    const webhook = await created()
    await publish(gateway, webhook, now)
    expect(await attempted(gateway, webhook, 1)).to.include({ state: 'delivered' })
    await until('the connection is closed', () => closed)
    expect(sent).to.be.lessThan(10_000_000)
  })

  it('are on no private network, whatever their name resolves to at each attempt', async () => {
    const statuses = [500, 200]
    host.serve('/turncoat', (response) => response.writeHead(statuses.shift()!).end())
    const name = 'turncoat.public.example'
    host.resolve(name, ['127.0.0.2'])
    const later = (of: typeof webhook, count: number, pauseMs: number) => {
      now += pauseMs
      return attempted(gateway, of, count)
    }
    const webhook = await createWebhook(gateway, host.address('/turncoat', name))
    await publish(gateway, webhook, now)
    await attempted(gateway, webhook, 1)
    host.resolve(name, ['127.0.0.1'])
    const { attempts } = await later(webhook, 2, 5000)
    expect(attempts[1]).to.include({
      status: null,
      error: 'The host name resolves to an address that is not public.',
    })
    expect(host.insideConnections()).to.equal(0)
    host.resolve(name, ['127.0.0.2'])
    const third = await later(webhook, 3, 300_000)
    expect(third.attempts[2]).to.include({ status: 200, error: null })
  })
})
