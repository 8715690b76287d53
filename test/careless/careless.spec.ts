import { expect } from 'chai'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { ask, readRequests, remedied } from './requests.ts'

describe('a careless request', () => {
  let gateway: TestGateway
  before(async () => {
    gateway = await startGateway()
  })
  after(() => gateway.stop())

  for (const request of readRequests()) {
    it(`gets an error that names the remedy. ${request.about}: ${request.name}`, async () => {
      const answer = await ask(gateway, request)
      expect(answer).to.deep.equal(request.answer)
      expect(JSON.stringify(answer)).to.not.include(gateway.testKey)
    })

    const again = remedied(request)
    if (again === undefined) continue
    it(`passes that check after following the remedy. ${request.about}: ${request.name}`, async () => {
      const { param, says } = request.answer
      const answer = await ask(gateway, again)
      // Accepts an image error, because the image URL in an error's example does not exist.
      if (answer.code === undefined || answer.code === 'image_fetch_failed') return
      // The corrected request may cause another error, but not the same error.
      expect(answer.says, again.text).to.not.equal(says)
      expect(answer.param ?? '', answer.says).to.not.equal(param ?? 'none')
    })
  }
})
