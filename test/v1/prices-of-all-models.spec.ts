import { expect } from 'chai'
import type { components } from '../../generated/types.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { expectEditsCharged, expectImagesCharged } from './price-quotes.ts'

type Models = components['schemas']['ModelList']

describe('the price of a call before it is made, of every model', () => {
  let gateway: TestGateway
  let models: Models['data']
  before(async () => {
    gateway = await startGateway()
    models = ((await (await gateway.fetch('/v1/models')).json()) as Models).data
  })
  after(() => gateway.stop())

  it('is the charge in the ledger, for each image model, size, quality and count', async () => {
    const kinds = await expectImagesCharged(gateway, models)
    expect(kinds['exact']).to.be.greaterThan(20)
    expect(kinds['at_most']).to.be.greaterThan(10)
  })

  it('is the charge in the ledger for edits, by the number of pictures', () =>
    expectEditsCharged(gateway, models))
})
