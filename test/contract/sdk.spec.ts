import { join } from 'node:path'
import { expect } from 'chai'
import { callNames, ownClients } from '../sdk-matrix/clients.ts'
import { tryClient, type Trial } from '../sdk-matrix/try-client.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'

const modules = join(import.meta.dirname, '../../node_modules')

/** `npm run sdk-matrix` tests further generators in the same way. */
for (const client of ownClients) {
  describe(`a client that ${client.name} generates from openapi.yaml`, () => {
    let gateway: TestGateway
    let trial: Trial
    before(async () => {
      gateway = await startGateway()
      trial = await tryClient(client, gateway, modules)
    })
    after(() => gateway.stop())

    it('is generated and compiles', () => {
      expect(trial).to.include({ generated: '', compiled: '' })
    })

    for (const name of callNames.filter((name) => !(name in (client.cannot ?? {})))) {
      it(`makes the call: ${name}`, () => expect(trial.calls[name]).to.equal(''))
    }
  })
}
