import { expect } from 'chai'
import { startImageVendors, type ImageVendors } from '../support/image-vendors.ts'

const path = '/v1/images/generations'
const openai = { model: 'gpt-image-2', prompt: 'a fox' }
const bytedance = { model: 'bytedance/seedream-4-0', prompt: 'a fox', size: '1024x1024' }

describe('a vendor that accepts idempotency keys', () => {
  let vendors: ImageVendors
  before(async () => {
    vendors = await startImageVendors({
      vendors: ['openai', 'bytedance'],
      limits: { cache_ttl_seconds: 0, route_tries_max: 2 },
      bounds: { retryDelayMs: 1 },
    })
  })
  beforeEach(() => vendors.reset())
  after(() => vendors.stop())
  const ask = async (body: object, key: string | undefined, apiKey = vendors.gateway.liveKey) => {
    const headers: Record<string, string> = key === undefined ? {} : { 'idempotency-key': key }
    const response = await vendors.gateway.post(path, body, { headers, key: apiKey })
    return { status: response.status, text: await response.text() }
  }
  const keysSent = (vendor: 'openai' | 'bytedance') =>
    vendors.doubles[vendor].calls.map(({ headers }) => headers['idempotency-key'])

  it('gets a different key for each attempt, never the caller’s', async () => {
    vendors.doubles.openai.play({ status: 500 })
    expect(await ask(openai, 'order-7')).to.include({ status: 200 })
    const sent = keysSent('openai')
    expect(sent).to.have.length(2)
    for (const key of sent) expect(key).to.match(/^[\w-]{43}-\d+-0$/)
    expect(new Set(sent).size).to.equal(2)
  })

  it('gets different keys for different accounts with the same key', async () => {
    const { gateway } = vendors
    const other = await gateway.createKey('live', { accountId: await gateway.createAccount() })
    for (const key of [gateway.liveKey, other]) {
      expect(await ask(openai, 'order-8', key)).to.include({ status: 200 })
    }
    expect(new Set(keysSent('openai')).size).to.equal(2)
  })

  it('gets no key without one of the caller; other vendors get none', async () => {
    await ask(openai, undefined)
    await ask(bytedance, 'order-9')
    expect([...keysSent('openai'), ...keysSent('bytedance')]).to.deep.equal([undefined, undefined])
  })
})
