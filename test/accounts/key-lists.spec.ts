import { expect } from 'chai'
import type { components } from '../../generated/types.ts'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { keyCalls } from '../support/key-calls.ts'
import { forEachStore } from '../support/each-store.ts'

type Page = components['schemas']['ApiKeyList']

const begin = Date.parse('2026-11-22T12:00:00Z')
const names = ['Ärger', 'ärger 100%', '<b>Büro</b>', 'build_server', 'Build server', '管理']

forEachStore('a list of keys', () => {
  let gateway: TestGateway
  let admin: string
  let now = begin
  before(async () => {
    gateway = await startGateway({ clock: () => now, bounds: { keyCacheMs: 0 } })
  })
  after(() => gateway.stop())
  let calls: ReturnType<typeof keyCalls>
  beforeEach(async () => {
    now = begin
    calls = keyCalls(gateway)
    const accountId = await gateway.createAccount()
    admin = await gateway.createKey('test', { scopes: ['admin'], accountId })
    for (const name of names) {
      await calls.made(admin, { name, mode: name.startsWith('<') ? 'live' : 'test' })
      now += 1
    }
  })
  const read = async (query: string) => {
    const answer = await gateway.fetch(`/api/keys?${query}`, { key: admin })
    expect(answer.status, query).to.equal(200)
    return (await answer.json()) as Page
  }
  const listed = async (query: string) => (await read(query)).data.map(({ name }) => name)

  it('has each key once over its pages, in either order', async () => {
    for (const order of ['asc', 'desc']) {
      const seen: string[] = []
      let cursor: string | null = ''
      while (cursor !== null) {
        const more = cursor === '' ? '' : `&cursor=${cursor}`
        const page: Page = await read(`limit=2&order=${order}${more}`)
        expect(page.data.length).to.be.at.most(2)
        seen.push(...page.data.map(({ name }) => name))
        cursor = page.next_cursor
        expect(page.has_more).to.equal(cursor !== null)
      }
      const all = ['test key', ...names]
      // Compares sorted names, because the calling key was created at the same time as the first key.
      expect(seen.toSorted()).to.deep.equal(all.toSorted())
      const shown = seen.filter((name) => name !== 'test key' && name !== 'Ärger')
      expect(shown).to.deep.equal(order === 'asc' ? names.slice(1) : names.slice(1).toReversed())
    }
  })

  for (const [name, found] of [
    ['Ärger', ['Ärger']],
    ['BUILD', ['build_server', 'Build server']],
    ['d_s', ['build_server']],
    ['%', ['ärger 100%']],
    ['<b>', ['<b>Büro</b>']],
    ['管', ['管理']],
    ['\\', []],
    ["' or 1=1 --", []],
  ] as [name: string, found: string[]][]) {
    it(`finds keys by '${name}' in their name`, async () => {
      expect(await listed(`order=asc&name=${encodeURIComponent(name)}`)).to.deep.equal(found)
    })
  }

  it('is filtered by state and mode', async () => {
    const { data } = await read('order=asc')
    const id = (name: string) => data.find((key) => key.name === name)!.id
    await calls.revoke(admin, id('Ärger'))
    await calls.rotate(admin, id('build_server'), 0)
    expect(await listed('state=revoked')).to.deep.equal(['Ärger'])
    expect(await listed('state=expired')).to.deep.equal(['build_server'])
    expect(await listed('state=active&name=build_server')).to.deep.equal(['build_server'])
    expect(await listed('mode=live')).to.deep.equal(['<b>Büro</b>'])
  })

  for (const cursor of ['x', 'W10', 'WzFd', btoa('[null,"key_1"]'), btoa('["a","b"]')]) {
    it(`refuses the cursor '${cursor}'`, async () => {
      const answer = await gateway.fetch(`/api/keys?cursor=${cursor}`, { key: admin })
      await expectError(answer, { status: 400, code: 'invalid_value', param: 'cursor' })
    })
  }
})
