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

// Excludes faults of client metadata documents, which this gateway cannot fetch without internet.
const seededFaults = [
  ...challengeFaults,
  ...metadataFaults,
  ...signInFaults,
  ...passageFaults,
].filter(({ code }) => code !== 'document_refused' && code !== 'registration_closed')

describe('the check of a connection to the gateway', () => {
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
      // Uses the machine's clock, as the header Date does. Tests set only the gateway's clock to a fixed day.
      now: Date.now,
      isPublic: () => false,
      net: { askTimeoutMs },
      holdMs: 250,
    })

  it('finds no fault', async () => {
    const { faults, works } = await examine(gateway!.testKey, 10_000)
    expect(faults).to.deep.equal([])
    const names = works.map(({ who }) => who)
    expect(names).to.include.members(clients.map(({ name }) => name))
    expect(names).to.include('With the key')
  })

  it('reports each fault of a proxy', async () => {
    for (const fault of seededFaults) {
      proxy.script = scriptOf(fault, proxy.url)
      // Passes the key only for faults that need it, because with a key `connect` watches a stream.
      const needsKey = /^(stream|session)_/.test(fault.code)
      const { faults } = await examine(needsKey ? gateway!.testKey : undefined, 1000)
      const named = faults.filter(({ code, text }) => code === fault.code && fault.says.test(text))
      const all = faults.map(({ code, text }) => `${code}: ${text}`).join('\n')
      expect(named, `${fault.wrong}\n${all}`).to.have.length.above(0)
    }
  })
})
