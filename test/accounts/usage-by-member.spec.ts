import { expect } from 'chai'
import type { components } from '../../generated/types.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import type { SignedInPerson } from '../support/people.ts'
import { usageRow } from '../support/usage-row.ts'
import { forEachStore } from '../support/each-store.ts'

type Schemas = components['schemas']
type Created = Schemas['CreatedApiKey']

const begin = Date.parse('2026-11-01T00:00:00Z')
const range = 'from=2026-11-01&to=2026-12-01'

forEachStore('usage by member', () => {
  let gateway: TestGateway
  let ada: SignedInPerson
  let ben: SignedInPerson
  beforeEach(async () => {
    gateway = await startGateway()
    ada = await gateway.people.signIn()
    ben = await gateway.people.signIn({ role: 'admin' })
  })
  afterEach(() => gateway.stop())

  type By = { key: string } | { headers: Record<string, string> }
  const post = async (path: string, by: By, body: object): Promise<Created> => {
    const headers = { 'content-type': 'application/json', ...('headers' in by ? by.headers : {}) }
    const sent = { method: 'POST', headers, body: JSON.stringify(body) }
    const key = 'key' in by ? { key: by.key } : { key: null }
    const response = await gateway.fetch(`/api/${path}`, { ...sent, ...key })
    expect(response.status, await response.clone().text()).to.equal(201)
    // The cast is safe: the contract defines this type for the response.
    return (await response.json()) as Created
  }
  const make = (by: By, scopes: string[] = ['inference']) =>
    post('keys', by, { name: 'k', mode: 'live', scopes })
  const ask = async (query: string): Promise<Response> => {
    const response = await gateway.fetch(`/api/${query}`, { key: gateway.adminKey })
    expect(response.status, await response.clone().text()).to.equal(200)
    return response
  }

  it('counts the keys that a member created, with or without a key, and their replacements', async () => {
    const own = await make(ada, ['admin'])
    const withKey = await make({ key: own.key })
    const rotated = await post(`keys/${withKey.id}/rotate`, { key: gateway.adminKey }, {})
    const bens = await make(ben)
    const nobodys = await make({ key: gateway.adminKey })
    const made = [own, withKey, rotated, bens, nobodys]
    expect(made.map((key) => key.created_by)).to.deep.equal([
      ada.personId,
      ada.personId,
      ada.personId,
      ben.personId,
      null,
    ])
    // The range begins and ends within hours, so that both rows and hourly sums are read.
    const { account_id } = own
    await gateway.addUsage(
      made.flatMap(({ id: key_id }, index) =>
        [0, 30 * 60_000].map((offset) => ({
          ...usageRow(`req_${index}_${offset}`, begin + offset),
          account_id,
          key_id,
          mode: 'live',
          cost_nano_usd: 10 ** index,
        })),
      ),
    )
    const path = 'usage?from=2026-11-01T00:10:00Z&to=2026-12-01&group_by=member'
    const rows = (await (await ask(path)).json()) as Schemas['UsageReport']
    const groups = new Map(rows.data.map((group) => [group.member, group]))
    expect(
      [...groups].map(([member, { sums }]) => [member, sums.cost.nano_usd]),
    ).to.have.deep.members([
      [ada.personId, 111],
      [ben.personId, 1000],
      [null, 10_000],
    ])
    expect(groups.get(ada.personId)!.member_name).to.equal('Somebody')
    expect(groups.get(null)!.member_name).to.equal(null)

    const filter = `${range}&member=${ada.personId}`
    const only = (await (await ask(`usage?${filter}`)).json()) as Schemas['UsageReport']
    expect(only.total).to.deep.include({ calls: 6, cost: { usd: '0.000000222', nano_usd: 222 } })
    const requests = (await (
      await ask(`requests/export?${filter}`)
    ).json()) as Schemas['RequestExport']
    expect(requests.rows).to.equal(6)
    const csv = await (await ask(`usage/export?${range}&group_by=member&format=csv`)).text()
    expect(csv).to.match(/^member,member_name,calls,/)
    expect(csv).to.include(`\r\n${ben.personId},Somebody,2,`)
  })

  it('does not include their keys in another account', async () => {
    const accountId = await gateway.createAccount()
    await gateway.people.join(ada.personId, accountId, 'owner')
    const { id: key_id } = await make(ada)
    await gateway.addUsage([{ ...usageRow('req_1', begin), key_id, account_id: accountId }])
    const query = `${range}&member=${ada.personId}&mode=test`
    const here = (await (await ask(`usage?${query}`)).json()) as Schemas['UsageReport']
    expect(here.total.calls).to.equal(0)
  })

  it('refuses an invalid member id', async () => {
    const path = `/api/usage?member=key_1`
    expect((await gateway.fetch(path, { key: gateway.adminKey })).status).to.equal(400)
  })
})
