import { expect } from 'chai'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { ask, readRequests } from './requests.ts'

describe('a careless request', () => {
  let gateway: TestGateway
  before(async () => {
    gateway = await startGateway()
  })
  after(() => gateway.stop())

  for (const request of readRequests()) {
    it(`is told what to do. ${request.about}: ${request.name}`, async () => {
      const answer = await ask(gateway, request)
      expect(answer).to.deep.equal(request.answer)
      expect(JSON.stringify(answer)).to.not.include(gateway.testKey)
    })
  }
})
