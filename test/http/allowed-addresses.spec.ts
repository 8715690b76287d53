import type { IncomingMessage } from 'node:http'
import { expect } from 'chai'
import { createClientAddress } from '../../src/http/client-address.ts'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { postMessages, request } from '../support/mcp-client.ts'

const asked = (headers: Record<string, string> = {}) => ({ headers })

describe('the allowed addresses of a key', () => {
  let gateway: TestGateway
  afterEach(() => gateway.stop())

  const ask = async (networks: string[], forwarded?: string, trusted?: string[]) => {
    gateway = await startGateway({
      file: trusted === undefined ? {} : { trusted_proxies: trusted },
    })
    const key = await gateway.createKey('test', { networks })
    const init = asked(forwarded === undefined ? {} : { 'x-forwarded-for': forwarded })
    return gateway.fetch('/v1/models', { key, ...init })
  }
  const refused = async (response: Response) =>
    (await expectError(response, { status: 403, code: 'ip_not_allowed', type: 'permission_error' }))
      .message

  it('accept the key from these addresses', async () => {
    expect((await ask(['10.0.0.0/8', '127.0.0.0/8'])).status).to.equal(200)
  })

  it('refuse the key from other addresses, with the address in the error', async () => {
    expect(await refused(await ask(['10.0.0.0/8', '::1']))).to.match(
      /from 127\.0\.0\.1\. Call from/,
    )
  })

  it('are not matched with a header of the caller without a trusted proxy', async () => {
    await refused(await ask(['10.0.0.0/8'], '10.1.1.1'))
  })

  it('are matched with the address that a trusted proxy reports', async () => {
    const response = await ask(['10.0.0.0/8'], '203.0.113.9, 10.1.1.1', ['127.0.0.1'])
    expect(response.status).to.equal(200)
  })

  it('are not matched with addresses that the caller sent to a trusted proxy', async () => {
    const text = await refused(await ask(['10.0.0.0/8'], '10.1.1.1, 203.0.113.9', ['127.0.0.1']))
    expect(text).to.include('203.0.113.9')
  })

  it('apply to the tool server, with its own error format', async () => {
    await ask(['127.0.0.1'])
    const key = await gateway.createKey('test', { networks: ['192.0.2.0/24'] })
    const { response, answer } = await postMessages(gateway, request('tools/list'), { key })
    expect(response.status).to.equal(403)
    expect(answer.error).to.deep.include({
      code: -32000,
      data: {
        type: 'permission_error',
        param: null,
        code: 'ip_not_allowed',
        request_id: response.headers.get('x-request-id'),
      },
    })
  })
})

describe('the address of a caller', () => {
  const from = (peer: string | undefined, forwarded: string | undefined, trusted: string[]) =>
    createClientAddress(trusted)({
      socket: { remoteAddress: peer },
      headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
    } as unknown as IncomingMessage)
  const proxies = ['10.0.0.0/8', '2001:db8::/32']

  const rows: [
    name: string,
    peer: string | undefined,
    header: string | undefined,
    is: string | null,
  ][] = [
    ['that of the connection', '203.0.113.7', undefined, '203.0.113.7'],
    ['that of the connection, whatever the header says', '203.0.113.7', '192.0.2.1', '203.0.113.7'],
    ['IPv4 where the socket takes both', '::ffff:203.0.113.7', undefined, '203.0.113.7'],
    ['IPv6 without its zone', 'fe80::1%eth0', undefined, 'fe80::1'],
    ['the one that the proxy added', '10.0.0.1', '192.0.2.1, 203.0.113.7', '203.0.113.7'],
    [
      'the one that the first of several proxies added',
      '10.0.0.1',
      '203.0.113.7, 10.2.2.2,2001:db8::1',
      '203.0.113.7',
    ],
    ['that of the proxy when it adds none', '10.0.0.1', undefined, '10.0.0.1'],
    [
      'that of the first proxy when all are trusted',
      '::ffff:10.0.0.1',
      '10.9.9.9, 10.0.0.2',
      '10.9.9.9',
    ],
    ['without the port', '10.0.0.1', '203.0.113.7:4711', '203.0.113.7'],
    ['without brackets and port', '10.0.0.1', '[2001:4860::8]:443', '2001:4860::8'],
    ['in its usual form', '10.0.0.1', '::FFFF:CB00:7107', '203.0.113.7'],
    ['unknown when the proxy does not know it', '10.0.0.1', '192.0.2.1, unknown', null],
    ['unknown when an entry is invalid', '10.0.0.1', '203.0.113.7, 10.0.0.300', null],
    ['unknown without a connection', undefined, '203.0.113.7', null],
  ]
  for (const [name, peer, header, is] of rows) {
    it(`is ${name}`, () => expect(from(peer, header, proxies)).to.equal(is))
  }
})
