import { expect } from 'chai'
import { answerComplaints } from '../support/answers.ts'
import {
  contradictions,
  olderRevisions,
  plain,
  revisionMember,
  saying,
  tolerated,
  versionHeader,
  type EraRow,
} from '../support/era-rows.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { type RpcAnswer } from '../support/mcp-client.ts'
import { modernHeaders, modernMeta, modernRequest } from '../support/modern-mcp.ts'

const modern = '2026-07-28'

describe('the era of a request to /mcp', () => {
  let gateway: TestGateway
  before(async () => {
    gateway = await startGateway()
  })
  after(() => gateway.stop())

  const post = async (body: unknown, headers: Record<string, string> = {}, path = '/mcp') => {
    const response = await gateway.post(path, body, { headers })
    const text = await response.text()
    const { status } = response
    const complaints = answerComplaints('postMcp', { status, headers: response.headers, text })
    expect(complaints, text).to.deep.equal([])
    return { status, text, answer: JSON.parse(text || '{}') as RpcAnswer }
  }
  /** The row's headers; by default those that the newest MCP revision requires, if the body names it. */
  const headersOf = ({ body, headers }: EraRow) =>
    headers ?? (JSON.stringify(body).includes(modern) ? modernHeaders('tools/list') : {})

  for (const row of [...tolerated, ...contradictions]) {
    const { name, body, outcome } = row
    if ('era' in outcome) {
      it(`is ${outcome.era} for ${name}`, async () => {
        const { status, answer } = await post(body, headersOf(row))
        expect(answer.error).to.equal(undefined)
        expect(status).to.equal(200)
        expect(answer.id).to.equal(7)
        expect(answer.result!['resultType']).to.equal(
          outcome.era === 'modern' ? 'complete' : undefined,
        )
      })
    } else {
      it(`refuses ${name}`, async () => {
        const { status, answer } = await post(body, headersOf(row))
        expect(answer.error).to.include({ code: outcome.code })
        expect(answer.error!.message).to.match(outcome.says)
        expect(status).to.equal(outcome.status)
        if (outcome.code !== -32600) expect(answer.id).to.equal(7)
      })
    }
  }

  it('is decided by the body also at an address with a query string', async () => {
    const headers = modernHeaders('tools/list')
    for (const path of ['/mcp?source=connector', '/mcp/', '/mcp/?a=b&a=c']) {
      const { answer } = await post(modernRequest('tools/list'), headers, path)
      expect(answer.result!['resultType']).to.equal('complete')
    }
  })

  it('is legacy in a session, whatever the header says', async () => {
    const begun = await gateway.post('/mcp', plain('initialize', { protocolVersion: '2025-11-25' }))
    const headers = {
      'mcp-session-id': begun.headers.get('mcp-session-id')!,
      [versionHeader]: modern,
    }
    const { answer } = await post(plain('tools/list'), headers)
    expect(answer.result).to.have.all.keys('tools')
  })

  it('is refused for an unknown revision, with the supported revisions', async () => {
    const requested = 'v999.0.0'
    const meta = { ...modernMeta, [revisionMember]: requested }
    const headers = { ...modernHeaders('server/discover'), [versionHeader]: requested }
    const { status, answer } = await post(saying(meta, 'server/discover'), headers)
    expect(status).to.equal(400)
    expect(answer.error!.code).to.equal(-32022)
    expect(answer.error!.data).to.deep.equal({ supported: [modern], requested })
  })

  it('does not matter for notifications, which get an empty 202', async () => {
    const note = (method: string, params?: object) => ({ jsonrpc: '2.0', method, params })
    const cancel = { requestId: 1, _meta: modernMeta }
    for (const [body, headers] of [
      [note('notifications/initialized'), {}],
      [note('notifications/cancelled', cancel), modernHeaders('notifications/cancelled')],
      [note('notifications/cancelled', cancel), { [versionHeader]: modern }],
      [note('notifications/anything'), { [versionHeader]: modern }],
    ] as const) {
      const { status, text } = await post(body, headers)
      expect([status, text]).to.deep.equal([202, ''])
    }
    const contradiction = note('notifications/cancelled', cancel)
    const { status } = await post(contradiction, modernHeaders('notifications/progress'))
    expect(status).to.equal(400)
  })

  it('does not matter for GET and DELETE, which accept each known revision, also twice', async () => {
    for (const version of [...olderRevisions, modern, '2025-11-25, 2025-11-25']) {
      const headers = { [versionHeader]: version }
      expect((await gateway.fetch('/mcp', { headers })).status).to.equal(200)
      expect((await gateway.fetch('/mcp', { method: 'DELETE', headers })).status).to.equal(204)
    }
    const headers = { [versionHeader]: '2025-11-25, 1999-01-01' }
    for (const method of ['GET', 'DELETE']) {
      expect((await gateway.fetch('/mcp', { method, headers })).status).to.equal(400)
    }
  })
})
