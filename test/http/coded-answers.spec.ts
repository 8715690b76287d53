import { expect } from 'chai'
import { startGateway, type TestGateway } from '../support/gateway.ts'

describe('long answers', () => {
  let gateway: TestGateway
  let key: string
  before(async () => {
    gateway = await startGateway()
    key = await gateway.createKey('test', { scopes: ['admin', 'inference'] })
  })
  after(() => gateway.stop())

  const ask = (path: string, coding?: string) =>
    gateway.fetch(path, {
      key,
      headers: coding === undefined ? {} : { 'accept-encoding': coding },
    })

  for (const path of ['/api/models', '/v1/models']) {
    it(`are compressed for clients that accept it, with the same content for all: ${path}`, async () => {
      const plain = await ask(path, 'identity')
      expect(plain.headers.get('content-encoding')).to.equal(null)
      expect(plain.headers.get('vary')).to.equal('accept-encoding')
      const text = await plain.text()
      expect(Number(plain.headers.get('content-length'))).to.be.above(100_000)
      for (const coding of ['gzip', 'br']) {
        const packed = await ask(path, coding)
        expect(packed.headers.get('content-encoding')).to.equal(coding)
        expect(Number(packed.headers.get('content-length'))).to.be.below(40_000)
        expect(await packed.text()).to.equal(text)
      }
      const none = await ask(path, 'gzip;q=0, br;q=0')
      expect(none.headers.get('content-encoding')).to.equal(null)
      expect(await none.text()).to.equal(text)
    })
  }

  it('are not compressed when they are short', async () => {
    const short = await ask('/api/requests', 'gzip')
    expect(short.headers.get('content-encoding')).to.equal(null)
    await short.text()
  })

  it('are never compressed when they may contain a secret', async () => {
    const body = { name: 'n'.repeat(60), mode: 'test' }
    const headers = { 'accept-encoding': 'gzip, br' }
    const made = await gateway.post('/api/keys', body, { key: gateway.adminKey, headers })
    expect(made.status).to.equal(201)
    expect(made.headers.get('content-encoding')).to.equal(null)
    await made.text()
    const keys = await gateway.fetch('/api/keys?limit=100', { key: gateway.adminKey, headers })
    expect(keys.headers.get('content-encoding')).to.equal(null)
    expect((await keys.text()).length).to.be.above(1024)
  })
})
