import { expect } from 'chai'
import { clients } from '../../src/connect/clients.ts'
import { examineConnection } from '../../src/connect/connect.ts'
import { readTarget } from '../../src/connect/target.ts'
import { challengeFaults } from '../support/connect/challenge-faults.ts'
import { metadataFaults } from '../support/connect/metadata-faults.ts'
import { passageFaults } from '../support/connect/passage-faults.ts'
import { startScriptedProxy, type ScriptedProxy } from '../support/connect/scripted-proxy.ts'
import { scriptOf } from '../support/connect/seeded-fault.ts'
import { signInFaults } from '../support/connect/sign-in-faults.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'

// The gateway of this test cannot fetch, so it takes no documents.
const seededFaults = [
  ...challengeFaults,
  ...metadataFaults,
  ...signInFaults,
  ...passageFaults,
].filter(({ code }) => code !== 'document_refused' && code !== 'registration_closed')

describe('what would break clients of the gateway itself', () => {
  let proxy: ScriptedProxy
  let gateway: TestGateway | undefined
  before(async () => {
    proxy = await startScriptedProxy('')
    gateway = await startGateway({
      variables: { BASE_URL: proxy.url, CLIENT_DOCUMENTS: 'closed' },
      file: { limits: { ping_interval_ms: 100, oauth_registrations_per_hour_max: 100_000 } },
      bounds: { oauthRegistrationsTotalPerHourMax: 100_000 },
    })
    proxy.upstream = gateway.url
  })
  after(async () => {
    await gateway?.stop()
    await proxy.stop()
  })
  beforeEach(() => {
    proxy.script = {}
  })

  const examine = (key: string | undefined, askTimeoutMs: number) =>
    examineConnection({
      target: readTarget(proxy.url)!,
      key,
      // The suite has a day of its own; the clock of the answers is the machine's.
      now: Date.now,
      isPublic: () => false,
      net: { askTimeoutMs },
      holdMs: 250,
    })

  it('is nothing', async () => {
    const { faults, works } = await examine(gateway!.testKey, 10_000)
    expect(faults).to.deep.equal([])
    const names = works.map(({ who }) => who)
    expect(names).to.include.members(clients.map(({ name }) => name))
    expect(names).to.include('With the key')
  })

  it('is named, each fault by its own sentence', async () => {
    for (const fault of seededFaults) {
      proxy.script = scriptOf(fault, proxy.url)
      // A stream is watched for a while, which the other faults need not wait for.
      const isSeenWithKey = /^(stream|session)_/.test(fault.code)
      const { faults } = await examine(isSeenWithKey ? gateway!.testKey : undefined, 1000)
      const named = faults.filter(({ code, text }) => code === fault.code && fault.says.test(text))
      const all = faults.map(({ code, text }) => `${code}: ${text}`).join('\n')
      expect(named, `${fault.wrong}\n${all}`).to.have.length.above(0)
    }
  }).timeout(120_000)
})
