import { expect } from 'chai'
import type { TestGateway } from '../../support/gateway.ts'
import { startWithAda, type People } from './people-at.ts'

describe('the sign-in pages with an API key', () => {
  let gateway: TestGateway
  let people: People
  before(async () => {
    ;({ gateway, people } = await startWithAda())
  })
  after(() => gateway.stop())

  it('accept an API key instead of a person', async () => {
    const { visitor, asking } = await people.arrive()
    const consent = await visitor.press('use_key', { api_key: gateway.liveKey })
    expect(consent.html).to.contain('With the API key').and.not.to.contain('budget_usd')
    expect(consent.html).not.to.contain(gateway.liveKey)
    const cookies = [...visitor.cookies].map(([, { value }]) => value).join()
    expect(cookies).not.to.contain(gateway.liveKey)
    await visitor.press('allow')
    const back = await people.goOn(visitor)
    const { access_token: token } = await asking.exchange(back.searchParams.get('code')!)
    expect((await gateway.fetch('/v1/models', { key: token })).status).to.equal(200)
    const [made] = await people.connectionsOf(asking.clientId)
    expect(made?.bound_to).to.be.a('string')
  })

  it('say that answers of a test key cost nothing', async () => {
    const { visitor } = await people.arrive()
    const consent = await visitor.press('use_key', { api_key: gateway.testKey })
    expect(consent.html).to.contain('<strong>test key</strong>')
  })

  describe('refuse an API key', () => {
    const cases: Record<string, { key: () => Promise<string> | string; text: string }> = {
      'that is missing': { key: () => '  ', text: 'Fill in an API key.' },
      'that is not of this gateway': {
        key: () => 'sk-something',
        text: 'This is not an API key of this gateway',
      },
      'that is shortened': { key: () => 'mag_live_...', text: 'The key is shortened' },
      'that may not infer': {
        key: () => gateway.createKey('live', { scopes: ['usage:read'] }),
        text: 'may not call models',
      },
      'that was revoked': {
        key: async () => {
          const key = await gateway.createKey('live', { row: { name: 'revoked' } })
          await gateway.db
            .updateTable('api_keys')
            .set({ revoked_at: 1 })
            .where('name', '=', 'revoked')
            .execute()
          return key
        },
        text: 'This API key was revoked.',
      },
    }
    for (const [what, { key, text }] of Object.entries(cases)) {
      it(what, async () => {
        const { visitor } = await people.arrive()
        const given = await key()
        const refused = await visitor.press('use_key', { api_key: given })
        expect(refused.status).to.be.oneOf([400, 403])
        expect(refused.html).to.contain(text).and.to.contain('<details open>')
        expect(refused.html).to.contain('aria-describedby="api_key-hint api_key-wrong"')
        if (given.startsWith('mag_live_')) expect(refused.html).not.to.contain(given)
      })
    }

    it('that is revoked between the pages', async () => {
      const { visitor } = await people.arrive()
      const key = await gateway.createKey('live', { row: { name: 'ending' } })
      await visitor.press('use_key', { api_key: key })
      const ending = gateway.db.updateTable('api_keys').set({ revoked_at: 1 })
      await ending.where('name', '=', 'ending').execute()
      const refused = await visitor.press('allow')
      expect(refused.html)
        .to.contain('<h1>Sign in</h1>')
        .and.to.contain('has expired or was revoked')
    })
  })
})
