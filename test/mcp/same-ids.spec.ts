import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { expect } from 'chai'
import { completion } from '../support/chat-answers.ts'
import type { TestGateway } from '../support/gateway.ts'
import { countLeft } from '../support/metric.ts'
import { startOwnEndpoint, type OwnEndpoint } from '../support/own-endpoint.ts'
import type { Upstream } from '../support/upstream.ts'

describe('two clients of version 2 of the SDK with one key and equal message ids', () => {
  let own: OwnEndpoint
  let gateway: TestGateway
  let upstream: Upstream
  before(async () => {
    own = await startOwnEndpoint()
    ;({ gateway, upstream } = own)
  })
  after(() => own.stop())

  const call = (client: Client, content: string, timeout: number) =>
    client.callTool(
      {
        name: 'chat',
        arguments: { model: 'own/house-1', messages: [{ role: 'user', content }] },
      },
      { timeout },
    )

  for (const mode of ['legacy', 'auto', { pin: '2026-07-28' }] as const) {
    it(`are independent: one times out, and the other is answered, in the mode ${JSON.stringify(mode)}`, async () => {
      const connect = async () => {
        const client = new Client({ name: 'x', version: '1' }, { versionNegotiation: { mode } })
        const headers = { authorization: `Bearer ${gateway.liveKey}` }
        const transport = new StreamableHTTPClientTransport(new URL(`${gateway.url}/mcp`), {
          requestInit: { headers },
        })
        await client.connect(transport)
        return { client, transport }
      }
      const [hasty, patient] = [await connect(), await connect()]
      // The newest MCP revision has no sessions. In this revision closing the connection cancels a call.
      const hasSession = typeof hasty.transport.sessionId === 'string'
      expect(hasSession).to.equal(mode === 'legacy')
      const left = await countLeft(gateway)
      const answered = Promise.withResolvers<void>()
      upstream.answer({ ...completion('at last'), after: answered.promise })
      const ends = [`hasty ${JSON.stringify(mode)}`, `patient ${JSON.stringify(mode)}`] as const
      const leaving = call(hasty.client, ends[0], 500).catch((error: Error) => error.message)
      const waiting = call(patient.client, ends[1], 20_000)
      expect(await leaving).to.contain('timed out')
      await left.until(1)
      answered.resolve()
      expect(JSON.stringify(await waiting)).to.contain('at last')
      for (const { client } of [hasty, patient]) await client.close()
    })
  }
})
