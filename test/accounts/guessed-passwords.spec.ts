import { expect } from 'chai'
import { forEachStore } from '../support/each-store.ts'
import { startGateway } from '../support/gateway.ts'

const ada = { email: 'ada@example.com', name: 'Ada', password: 'correct horse battery' }

forEachStore('people', () => {
  it('are protected against fast guesses from one network and from many addresses', async () => {
    let now = Date.parse('2026-11-22T12:00:00Z')
    await using proxied = await startGateway({
      clock: () => now,
      file: { trusted_proxies: ['127.0.0.1'] },
    })
    await proxied.setUp({ ...ada, token: await proxied.people.setUpLink() })
    const guess = (address: string, password = 'a wrong horse', email = ada.email) =>
      proxied.post(
        '/api/sessions',
        { email, password },
        { key: null, headers: { 'x-forwarded-for': address } },
      )
    const statuses = (answers: Response[]) => {
      const found = Map.groupBy(answers, ({ status }) => status)
      return Object.fromEntries([...found].map(([status, { length }]) => [status, length]))
    }
    const ofNetwork = Array.from({ length: 8 }, (_, n) =>
      guess(`2001:db8:0:7::${n + 1}`, 'a wrong horse', 'grace@example.com'),
    )
    expect(statuses(await Promise.all(ofNetwork))).to.deep.equal({ 401: 5, 429: 3 })
    const each = Array.from({ length: 30 }, (_, n) => guess(`198.51.100.${n}`))
    expect(statuses(await Promise.all(each))).to.deep.equal({ 401: 10, 429: 20 })
    expect((await guess('2001:db8::1', ada.password)).status).to.equal(429)
    now += 60_000
    expect((await guess('2001:db8::1', ada.password)).status).to.equal(201)
  })
})
