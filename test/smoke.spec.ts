import { expect } from 'chai'
import { startGateway, type TestGateway } from './support/gateway.ts'

describe('the gateway', () => {
  let gateway: TestGateway
  before(async () => {
    gateway = await startGateway()
  })
  after(() => gateway.stop())

  it('makes a picture with nothing configured', async () => {
    const response = await gateway.post('/v1/images/generations', { prompt: 'a fox' })
    expect(response.status).to.equal(200)
    expect(await gateway.usage()).to.have.length(1)
  })
})
