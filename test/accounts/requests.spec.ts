import { expect } from 'chai'
import type { components } from '../../generated/types.ts'
import type { UsageTable } from '../../src/storage/tables.ts'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { callTool, connectClient, postMessages, toolCall } from '../support/mcp-client.ts'
import { usageRow } from '../support/usage-row.ts'
import { forEachStore } from '../support/each-store.ts'

type Record = components['schemas']['RequestRecord']
type List = components['schemas']['RequestRecordList']

const at = Date.parse('2026-11-20T12:00:00Z')
const idAt = (time: number, index: number) =>
  `req_${time.toString(16).padStart(12, '0')}${String(index).padStart(20, '0')}`
const conversation = { model: 'gpt-5-mini', messages: [{ role: 'user', content: 'A lighthouse' }] }

forEachStore('the calls of an account', () => {
  let gateway: TestGateway
  let accountId: string
  let key: string
  before(async () => {
    gateway = await startGateway()
    accountId = await gateway.createAccount()
    key = await gateway.createKey('live', { accountId, scopes: ['usage:read'] })
  })
  after(() => gateway.stop())

  const row = (index: number, more: Partial<UsageTable> = {}): UsageTable => ({
    ...usageRow(idAt(at + index, index), at + index),
    account_id: accountId,
    mode: 'live',
    ...more,
  })
  const list = async (query: object = {}): Promise<List> => {
    const search = new URLSearchParams({ ...query }).toString()
    const response = await gateway.fetch(`/api/requests?${search}`, { key })
    expect(response.status, await response.clone().text()).to.equal(200)
    return (await response.json()) as List
  }
  const find = (id: string, caller = key) =>
    gateway.fetch(`/api/requests/${encodeURIComponent(id)}`, { key: caller })

  describe('in a list', () => {
    const rows: UsageTable[] = []
    before(async () => {
      const failed = { outcome: 'failed', error_code: 'provider_error' }
      rows.push(
        ...Array.from({ length: 12_000 }, (_, index) =>
          row(
            index,
            index % 1000 === 5 ? { ...failed, cost_nano_usd: 0 } : { cost_nano_usd: index },
          ),
        ),
        row(20_000, { key_id: 'key_rare', model: 'rare', provider: 'p', face: 'mcp' }),
        row(20_001, { outcome: 'cancelled', error_code: 'timeout' }),
        row(20_002, { mode: 'test', modality: 'image' }),
      )
      await gateway.addUsage(rows)
    })

    const all = async (query: object): Promise<string[]> => {
      const ids: string[] = []
      for (let cursor: string | null | undefined; cursor !== null;) {
        const page = await list({
          limit: 100,
          ...query,
          ...(cursor === undefined ? {} : { cursor }),
        })
        ids.push(...page.data.map(({ id }) => id))
        cursor = page.next_cursor
      }
      return ids
    }
    const filters: [object, (row: UsageTable) => boolean][] = [
      [{ outcome: 'failed' }, (one) => one.outcome === 'failed'],
      [{ outcome: 'failed', order: 'asc', limit: 5 }, (one) => one.outcome === 'failed'],
      [{ error_code: 'timeout' }, (one) => one.error_code === 'timeout'],
      [
        { error_code: 'provider_error', outcome: 'failed', limit: 3 },
        (one) => one.error_code === 'provider_error',
      ],
      [{ error_code: 'timeout', outcome: 'failed' }, () => false],
      [{ key_id: 'key_rare' }, (one) => one.key_id === 'key_rare'],
      [{ key_id: 'key_rare', order: 'asc' }, (one) => one.key_id === 'key_rare'],
      [{ model: 'rare', provider: 'p', face: 'mcp' }, (one) => one.model === 'rare'],
      [{ mode: 'test' }, (one) => one.mode === 'test'],
      [{ modality: 'image', outcome: 'ok' }, (one) => one.modality === 'image'],
      [{ cost_above_usd: '0.00001195' }, (one) => (one.cost_nano_usd ?? 0) > 11_950],
      [
        { from: new Date(at + 100).toISOString(), to: new Date(at + 350).toISOString() },
        (one) => one.at >= at + 100 && one.at < at + 350,
      ],
    ]
    for (const [query, isAsked] of filters) {
      it(`are exactly those that match ${JSON.stringify(query)}, over all pages`, async () => {
        const expected = rows.filter(isAsked).map(({ id }) => id)
        const isUp = 'order' in query && query.order === 'asc'
        expect(await all(query)).to.deep.equal(isUp ? expected : expected.toReversed())
      })
    }

    it('are searched in bounded steps, and an empty page says that more follow', async () => {
      const page = await list({ key_id: 'key_none' })
      expect(page).to.include({ has_more: true })
      expect(page.data).to.deep.equal([])
      expect(page.next_cursor).to.be.a('string')
    })

    it('say how far they were searched, and the next page continues there', async () => {
      for (const order of ['desc', 'asc'] as const) {
        const inOrder = order === 'asc' ? rows : rows.toReversed()
        const query = { key_id: 'key_none', order }
        const times: (string | null)[] = []
        for (let cursor: string | null | undefined; cursor !== null;) {
          const page = await list({ ...query, ...(cursor === undefined ? {} : { cursor }) })
          times.push(page.searched_until)
          cursor = page.next_cursor
        }
        const searched = inOrder.filter((_row, index) => index % 10_000 === 9999)
        const expected = searched.map((row) => new Date(row.at).toISOString())
        expect(times).to.deep.equal([...expected, null])
      }
      const { data, searched_until: until } = await list({ limit: 3 })
      expect(until).to.equal(data.at(-1)!.at)
    })

    const wrong: [string, string][] = [
      ['from=yesterday', 'from'],
      ['to=2026-02-30', 'to'],
      ['cursor=abc', 'cursor'],
      ['outcome=good', 'outcome'],
      ['cost_above_usd=-1', 'cost_above_usd'],
      ['error_code=nothing', 'error_code'],
    ]
    for (const [query, param] of wrong) {
      it(`are refused with the name of the parameter: ${query}`, async () => {
        const response = await gateway.fetch(`/api/requests?${query}`, { key })
        await expectError(response, { status: 400, code: 'invalid_value', param })
      })
    }
  })

  describe('one by one', () => {
    it('are found by id, even if the id contains another time', async () => {
      const hour = 3_600_000
      const rows = [
        row(30_000),
        row(30_001, { id: idAt(at + 30_001 - hour, 1) }),
        row(30_002, { id: idAt(at + 30_002 + hour, 2) }),
        row(30_003, { id: 'a-text' }),
      ]
      await gateway.addUsage(rows)
      for (const { id, at: began } of rows) {
        const found = (await (await find(id)).json()) as Record
        expect(found).to.include({ id, at: new Date(began).toISOString() })
      }
    })

    it('are hidden from other accounts', async () => {
      const id = idAt(at + 40_000, 1)
      await gateway.addUsage([row(40_000, { id })])
      const other = await gateway.createAccount()
      const scopes = ['usage:read'] as const
      const stranger = await gateway.createKey('live', { accountId: other, scopes: [...scopes] })
      const error = await expectError(await find(id, stranger), { status: 404, code: 'not_found' })
      expect(error.message).to.include('are not recorded')
      await expectError(await find('req_\u0000%27'), { status: 404, code: 'not_found' })
    })

    it('have no price lines in rows of older versions', async () => {
      await gateway.addUsage([row(50_000, { cost_nano_usd: 5, cost_status: 'exact' })])
      const { cost } = (await (await find(idAt(at + 50_000, 50_000))).json()) as Record
      expect(cost).to.deep.include({ lines: null, exact_usd: null })
      expect(cost.amount).to.deep.equal({ usd: '0.000000005', nano_usd: 5 })
    })

    it('show the price calculation, which adds up', async () => {
      const pricing = {
        prices: { input_tokens: '0.00000025', output_tokens: '0.000002', images: '0.1' },
        multiplier: '0.333333333',
        offPeak: true,
        upstreamNanoUsd: 3,
        picture: { size: '1024x1024', referenceImages: 2 },
      }
      const more = { input_tokens: 7, output_tokens: 3, pricing: JSON.stringify(pricing) }
      await gateway.addUsage([row(60_000, { ...more, cost_nano_usd: 2583, cost_status: 'exact' })])
      const { cost } = (await (await find(idAt(at + 60_000, 60_000))).json()) as Record
      expect(cost).to.deep.equal({
        amount: { usd: '0.000002583', nano_usd: 2583 },
        status: 'exact',
        is_charged: true,
        lines: [
          {
            what: 'input_tokens',
            units: 7,
            unit_price: '0.00000008333333325',
            amount: '0.00000058333333275',
          },
          {
            what: 'output_tokens',
            units: 3,
            unit_price: '0.000000666666666',
            amount: '0.000001999999998',
          },
        ],
        exact_usd: '0.00000258333333075',
        multiplier: '0.333333333',
        off_peak: true,
        picture: { size: '1024x1024', reference_images: 2 },
        upstream: { usd: '0.000000003', nano_usd: 3 },
        saved: null,
      })
    })
  })

  describe('through each face', () => {
    const open = async (id: string | null): Promise<Record> => {
      const response = await find(id ?? 'none', gateway.adminKey)
      expect(response.status, await response.clone().text()).to.equal(200)
      return (await response.json()) as Record
    }

    it('are found by the id in the response', async () => {
      const chat = await gateway.post('/v1/chat/completions', conversation)
      const stream = await gateway.post('/v1/chat/completions', { ...conversation, stream: true })
      await stream.text()
      const image = await gateway.post('/v1/images/generations', {
        model: 'gpt-image-2.6-sunburst',
        prompt: 'A lighthouse',
      })
      await image.text()
      for (const [answer, face] of [
        [chat, 'chat'],
        [stream, 'chat'],
        [image, 'images'],
      ] as const) {
        const found = await open(answer.headers.get('x-request-id'))
        expect(found).to.include({ face, outcome: 'ok', mode: 'test', key_name: 'test key' })
        expect(found.cost.is_charged).to.equal(false)
        expect(found.cost.lines).to.have.length.above(0)
        expect(found.attempts).to.have.length(1)
      }
    })

    it('are found by the id in an error, in a body and in a stream', async () => {
      const idInError = async (words: string, stream: boolean) => {
        const response = await gateway.post('/v1/chat/completions', {
          ...conversation,
          stream,
          messages: [{ role: 'user', content: words }],
        })
        const text = await response.text()
        const json = /\{"error".*\}/.exec(text)?.[0] ?? text
        const { error } = JSON.parse(json) as { error: { request_id: string; code: string } }
        expect(error.request_id).to.equal(response.headers.get('x-request-id'))
        return error
      }
      for (const error of [
        await idInError('sandbox:status=500', false),
        await idInError('sandbox:status=500', true),
        await idInError('sandbox:cut-stream', true),
      ]) {
        const found = await open(error.request_id)
        expect(found).to.include({ outcome: 'failed', error_code: error.code })
        expect(found.attempts).to.have.length.above(0)
      }
    })

    it('are found by the id in a tool result, each call of a batch by its own', async () => {
      const client = await connectClient(gateway)
      const result = await callTool(client, 'chat', conversation)
      await client.close()
      const { _meta: meta } = result as { _meta?: { requestId: string } }
      expect(await open(meta!.requestId)).to.include({ face: 'mcp', outcome: 'ok' })
      const calls = [1, 2, 3].map((id) => toolCall('chat', conversation, id))
      const { response, answers } = await postMessages(gateway, calls)
      const ids = answers.map(
        ({ result: one }) => (one!['_meta'] as { requestId: string }).requestId,
      )
      expect(new Set(ids).size).to.equal(3)
      expect(ids).to.include(response.headers.get('x-request-id'))
      for (const id of ids) expect(await open(id)).to.include({ id, face: 'mcp' })
    })

    it('have no row if they were refused', async () => {
      const refused = await gateway.post('/v1/chat/completions', { ...conversation, model: 'none' })
      const { request_id: id } = await expectError(refused, {
        status: 404,
        code: 'model_not_found',
      })
      await expectError(await find(id, gateway.adminKey), { status: 404, code: 'not_found' })
    })
  })
})
