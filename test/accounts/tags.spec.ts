import { expect } from 'chai'
import OpenAI from 'openai'
import type { components } from '../../generated/types.ts'
import { completion } from '../support/chat-answers.ts'
import { forEachStore } from '../support/each-store.ts'
import { expectError } from '../support/expect-error.ts'
import { toolCall } from '../support/mcp-client.ts'
import { hello, startOwnEndpoint, type OwnEndpoint } from '../support/own-endpoint.ts'

type Report = components['schemas']['UsageReport']
type List = components['schemas']['RequestRecordList']

const file = {
  routes: { 'gpt-5-mini': ['own/house-1'] },
  catalog: {
    'gpt-5-mini': { pricing: { input_per_million_tokens: 1, output_per_million_tokens: 10 } },
  },
}

forEachStore('the tags of calls', () => {
  let own: OwnEndpoint
  let key: string
  before(async () => {
    own = await startOwnEndpoint({ file })
    own.upstream.answer(completion('Hi.'))
    const accountId = await own.gateway.createAccount()
    key = await own.gateway.createKey('live', { accountId, scopes: ['inference', 'usage:read'] })
    const client = new OpenAI({ apiKey: key, baseURL: `${own.gateway.url}/v1`, maxRetries: 0 })
    const fresh = { 'cache-control': 'no-store' }
    const chat = (tags: Record<string, string>, metadata?: Record<string, string>) =>
      client.chat.completions.create(
        { model: 'gpt-5-mini', messages: hello, ...(metadata && { metadata }) },
        { headers: { ...fresh, ...tags } },
      )
    await chat({ 'x-gateway-tags': 'team=search, nightly' })
    await chat({}, { team: 'search', note: 'a text with spaces', long: 'x'.repeat(80) })
    await chat({})
    await client.responses.create(
      { model: 'gpt-5-mini', input: 'hello', metadata: { team: 'billing' } },
      { headers: { ...fresh, 'x-gateway-tags': 'nightly,nightly' } },
    )
    const call = toolCall('chat', { model: 'gpt-5-mini', messages: hello, max_tokens: 100 })
    const answer = await own.gateway.post('/mcp', call, {
      key,
      headers: { ...fresh, 'x-gateway-tags': 'agent' },
    })
    expect(answer.status).to.equal(200)
    await answer.text()
  })
  after(() => own.stop())

  const get = async <Body>(path: string) => {
    const answer = await own.gateway.fetch(path, { key })
    expect(answer.status, await answer.clone().text()).to.equal(200)
    return (await answer.json()) as Body
  }

  it('are in the rows: those of the header, then plain pairs of metadata', async () => {
    const { data } = await get<List>('/api/requests?order=asc')
    expect(data.map(({ tags }) => tags)).to.deep.equal([
      ['team=search', 'nightly'],
      ['team=search'],
      [],
      ['nightly', 'team=billing'],
      ['agent'],
    ])
  })

  it('filter requests, reports and exports', async () => {
    const found = await get<List>('/api/requests?tag=team%3Dsearch')
    expect(found.data).to.have.length(2)
    const report = await get<Report>('/api/usage?tag=nightly')
    expect(report.total).to.include({ calls: 2 })
    // Parts of tags are no tags.
    for (const tag of ['unknown', 'team', 'search', 'night', 'team%3Dsearc']) {
      const none = await get<Report>(`/api/usage?tag=${tag}`)
      expect(none.total, tag).to.include({ calls: 0 })
    }
    const csv = await own.gateway.fetch('/api/requests/export?format=csv&tag=team%3Dsearch', {
      key,
    })
    const [names, ...rows] = (await csv.text()).trim().split(/\r?\n/)
    const at = names!.split(',').indexOf('tags')
    expect(at).to.be.above(0)
    expect(rows).to.have.length(2)
    expect(rows.join()).to.include('team=search nightly')
  })

  it('group reports: a call counts in each of its tags, and the total has each call once', async () => {
    const { data, total } = await get<Report>('/api/usage?group_by=tag&order_by=cost')
    const counts = Object.fromEntries(data.map(({ tag, sums }) => [tag, sums.calls]))
    expect(counts).to.deep.equal({ 'team=search': 2, nightly: 2, 'team=billing': 1, agent: 1 })
    expect(total.calls).to.equal(5)
    const byDay = await get<Report>('/api/usage?group_by=day,tag&tag=team%3Dsearch')
    expect(byDay.total.calls).to.equal(2)
    expect(byDay.data.map(({ tag }) => tag)).to.have.members(['team=search', 'nightly'])
    const csv = await own.gateway.fetch('/api/usage/export?format=csv&group_by=tag', { key })
    expect(await csv.text()).to.match(/^tag,calls,/)
  })

  it('are refused in a header that is no list of at most 8 short tags', async () => {
    for (const tags of ['a b', 'x'.repeat(65), 'a,,b', Array.from('abcdefghi').join(',')]) {
      const answer = await own.chat({}, { key, headers: { 'x-gateway-tags': tags } })
      await expectError(answer, { status: 400, code: 'invalid_value', param: 'x-gateway-tags' })
    }
    const wrong = await own.gateway.fetch('/api/usage?tag=a%20b', { key })
    await expectError(wrong, { status: 400, code: 'invalid_value', param: 'tag' })
  })
})
