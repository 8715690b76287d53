import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { caddyConfiguration } from '../support/deploy/composed.ts'
import { startCaddy, type TestCaddy } from '../support/servers/caddy.ts'
import { programPath } from '../support/program-path.ts'
import { until } from '../support/until.ts'

describe('Caddy in front of restarting gateways', function () {
  let gateways: GatewayDouble[]
  let caddy: TestCaddy
  before(async function () {
    programPath('caddy', this)
    gateways = await Promise.all([startDouble(), startDouble()])
    const addresses = gateways.map(({ address }, index): [string, string] => [
      `gateway-${index + 1}:8080`,
      address,
    ])
    caddy = await startCaddy(({ port }) => caddyConfiguration(port, addresses))
  })
  after(async () => {
    await caddy?.stop()
    for (const gateway of gateways ?? []) gateway.stop()
  })
  const ask = (method: string, body: string | null = null) =>
    fetch(`${caddy.url}/v1/chat/completions`, { method, body })
  const received = () => gateways.flatMap((gateway) => gateway.received.splice(0))
  const setReady = (isReady: boolean) => {
    for (const gateway of gateways) gateway.isReady = isReady
  }
  /** Waits until Caddy has read a health answer. Caddy sends its next probe only after this answer. */
  const probed = async () => {
    const before = gateways.map(({ probes }) => probes)
    await until('Caddy has probed twice', () =>
      gateways.every(({ probes }, at) => probes > before[at]! + 1),
    )
  }
  const loseNext = () => {
    for (const gateway of gateways) gateway.losesNext = true
  }

  it('holds a POST while no gateway is ready, and sends it once', async () => {
    setReady(false)
    await probed()
    const asking = ask('POST', 'hello')
    await probed()
    setReady(true)
    const answer = await asking
    expect({ status: answer.status, text: await answer.text() }).to.deep.equal({
      status: 200,
      text: 'done',
    })
    expect(received()).to.deep.equal(['POST hello'])
  })

  it('repeats a lost GET, but never a POST', async () => {
    // Includes a POST without a body, which Caddy could repeat.
    for (const body of ['hello', null]) {
      loseNext()
      expect((await ask('POST', body)).status).to.equal(502)
      expect(received()).to.deep.equal([`POST ${body ?? ''}`.trim()])
    }
    loseNext()
    expect((await ask('GET')).status).to.equal(200)
    expect(received().length).to.be.greaterThan(1)
  })
})

type GatewayDouble = Awaited<ReturnType<typeof startDouble>>

/** A test double of a gateway, with readiness and one answer. */
async function startDouble() {
  const received: string[] = []
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.url === '/ready') {
      double.probes++
      response.writeHead(double.isReady ? 200 : 503).end()
      return
    }
    received.push(`${request.method} ${await text(request)}`.trim())
    if (double.losesNext) {
      double.losesNext = false
      request.socket.destroy()
    } else response.end('done')
  }
  const server = createServer((request, response) => void answer(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const double = {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    isReady: true,
    /** The number of requests to /ready. */
    probes: 0,
    losesNext: false,
    received,
    stop: () => {
      server.close()
      server.closeAllConnections()
    },
  }
  return double
}
