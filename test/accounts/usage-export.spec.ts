import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { text as textOf } from 'node:stream/consumers'
import { expect } from 'chai'
import fc from 'fast-check'
import type { components } from '../../generated/types.ts'
import type { UsageTable } from '../../src/storage/tables.ts'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { until } from '../support/until.ts'
import { usageRow } from '../support/usage-row.ts'
import { forEachStore } from '../support/each-store.ts'

type Requests = components['schemas']['RequestExport']
type Groups = components['schemas']['UsageExport']
type Group = components['schemas']['UsageGroup']
type Report = components['schemas']['UsageReport']

const begin = Date.parse('2026-11-01T00:00:00Z')
const range = 'from=2026-11-01&to=2026-12-01'

forEachStore('exports of usage', () => {
  let gateway: TestGateway
  let accountId: string
  let key: string
  beforeEach(async () => {
    gateway = await startGateway()
    accountId = await gateway.createAccount()
    key = await gateway.createKey('live', { accountId, scopes: ['usage:read'] })
  })
  afterEach(() => gateway.stop())

  const rows = (count: number, change: (index: number) => Partial<UsageTable> = () => ({})) =>
    Array.from({ length: count }, (_, index): UsageTable => ({
      ...usageRow(`req_${String(index).padStart(6, '0')}`, begin + Math.floor(index / 3)),
      account_id: accountId,
      mode: 'live',
      ...change(index),
    }))
  const ask = async (path: string, headers: Record<string, string> = {}) => {
    const response = await gateway.fetch(`/api/${path}`, { key, headers })
    expect(response.status, await response.clone().text()).to.equal(200)
    return response
  }
  // The cast is safe: the contract defines this type for the body.
  const json = async <T>(path: string) => (await (await ask(path)).json()) as T
  /** Requests a path; returns the response with its body unread. */
  const open = async (path: string): Promise<IncomingMessage> => {
    const headers = { authorization: `Bearer ${key}` }
    const asked = request(`${gateway.url}/api/${path}`, { headers, agent: false }).end()
    const [response] = (await once(asked, 'response')) as [IncomingMessage]
    return response
  }

  it('have each request once, in order, over any number of pages', async () => {
    const kept = rows(1001)
    await gateway.addUsage(kept.toReversed())
    await gateway.addUsage(rows(3, (i) => ({ id: `req_else_${i}`, account_id: 'acc_else' })))
    await gateway.addUsage(rows(3, (i) => ({ id: `req_test_${i}`, mode: 'test' })))
    for (const order of ['asc', 'desc']) {
      const path = `requests/export?${range}&format=json&order=${order}`
      const { data, rows: count, ...head } = (await (await ask(path)).json()) as Requests
      const ids = kept.map(({ id }) => id)
      expect(data.map(({ id }) => id)).to.deep.equal(order === 'asc' ? ids : ids.toReversed())
      expect(count).to.equal(1001)
      expect(head).to.deep.equal({
        object: 'request_export',
        account_id: accountId,
        mode: 'live',
        from: '2026-11-01T00:00:00.000Z',
        to: '2026-12-01T00:00:00.000Z',
      })
    }
  })

  it('contain the ledger row of a request in each format', async () => {
    const attempt = { provider: 'p', upstreamModel: 'u', outcome: 'rate_limited', durationMs: 3 }
    const [row] = rows(1, () => ({
      attempts: JSON.stringify([attempt, { ...attempt, outcome: 'ok', status: 200 }]),
      cost_nano_usd: 1_500_000_000,
      cost_status: 'exact',
    }))
    await gateway.addUsage([row!])
    const record = {
      object: 'request',
      id: 'req_000000',
      at: '2026-11-01T00:00:00.000Z',
      key_id: 'key_1',
      key_name: null,
      attempts: [
        {
          provider: 'p',
          upstream_model: 'u',
          outcome: 'rate_limited',
          status: null,
          // Rows that older versions wrote lack `start_ms`.
          start_ms: null,
          duration_ms: 3,
          cost: null,
          message: null,
          explanation:
            'The provider limits the rate of requests. The same provider was tried again.',
        },
        {
          provider: 'p',
          upstream_model: 'u',
          outcome: 'ok',
          status: 200,
          start_ms: null,
          duration_ms: 3,
          cost: null,
          message: null,
          explanation: null,
        },
      ],
    }
    const lines = (await (await ask(`requests/export?${range}&format=jsonl`)).text()).split('\n')
    expect(lines).to.have.length(4)
    const [head, line, end] = lines.slice(0, 3).map((one) => JSON.parse(one) as object)
    expect(head).to.include({ object: 'request_export', to: '2026-12-01T00:00:00.000Z' })
    expect(line).to.deep.include(record)
    const listed = (await json<{ data: object[] }>(`requests?${range}`)).data
    expect(line).to.deep.equal(listed[0])
    expect(end).to.deep.equal({ object: 'export_end', rows: 1 })
    const csv = await ask(`requests/export?${range}&format=csv`)
    expect(csv.headers.get('content-type')).to.match(/^text\/csv/)
    expect(csv.headers.get('content-disposition')).to.equal(
      'attachment; filename="request-export-2026-11-01-2026-12-01.csv"',
    )
    const [names, cells, ...rest] = parsedCsv(await csv.text())
    const cell = (name: string) => cells![names!.indexOf(name)]!
    expect(rest).to.deep.equal([])
    expect(cell('cost_usd')).to.equal('1.5')
    expect(JSON.parse(cell('attempts'))).to.deep.equal(record.attempts)
  })

  it('use the format of Accept, unless the parameter format is set', async () => {
    const accept = 'application/x-ndjson;q=1, text/csv;q=0.5'
    const type = async (query: string) =>
      (await ask(`usage/export?${query}`, { accept })).headers.get('content-type')
    expect(await type(range)).to.equal('application/x-ndjson')
    expect(await type(`${range}&format=csv`)).to.match(/^text\/csv/)
    expect((await ask('usage/export')).headers.get('content-type')).to.equal('application/json')
  })

  it('have all groups of a report once, in order of time, over several pages', async () => {
    const hourMs = 3_600_000
    await gateway.addUsage(
      rows(900, (n) => ({ at: begin + (n % 75) * hourMs, model: `m${n % 450}`, cost_nano_usd: 1 })),
    )
    for (const group_by of ['model', 'hour,model', 'day', 'month,day,model', 'model,day']) {
      for (const order of ['asc', 'desc']) {
        const query = `${range}&group_by=${group_by}&order=${order}`
        const { data, rows: count } = await json<Groups>(`usage/export?${query}&format=json`)
        const listed: Group[] = []
        for (let cursor: string | null = ''; cursor !== null;) {
          const page: Report = await json(`usage?${query}&limit=100&cursor=${cursor}`)
          listed.push(...page.data)
          cursor = page.next_cursor
        }
        expect(data).to.deep.equal(listed)
        expect(count).to.equal(data.length)
        expect(data.reduce((sum, { sums }) => sum + sums.calls, 0)).to.equal(900)
      }
    }
  })

  it('are complete without any calls', async () => {
    for (const path of ['usage/export', 'requests/export']) {
      const { data, rows: count } = (await (await ask(`${path}?format=json`)).json()) as Groups
      expect({ data, count }).to.deep.equal({ data: [], count: 0 })
      expect(parsedCsv(await (await ask(`${path}?format=csv`)).text())).to.have.length(1)
      const lines = (await (await ask(`${path}?format=jsonl`)).text()).trim().split('\n')
      expect(lines).to.have.length(2)
    }
  })

  it('are CSV that spreadsheets read as text, for any name', async () => {
    const bad = fc.oneof(
      fc.constantFrom(
        '=1+1',
        '+1',
        '-1',
        '@x',
        '\t=1',
        '\r=1',
        '＝1',
        '＋1',
        '－1',
        '＠x',
        '"',
        ',',
        '\r\n',
        "'",
        '<b>',
      ),
      fc.string({ unit: 'grapheme', maxLength: 20 }),
    )
    const names = fc.sample(bad, { numRuns: 200, seed: 5 })
    await gateway.addUsage(rows(names.length, (index) => ({ model: names[index]! })))
    const path = `requests/export?${range}&format=csv&order=asc`
    const text = await (await ask(path)).text()
    const [head, ...lines] = parsedCsv(text)
    const at = head!.indexOf('model')
    expect(lines.map((cells) => cells[at])).to.deep.equal(
      names.map((name) => (/^[=+\-@\t\r＝＋－＠]/.test(name) ? `'${name}` : name)),
    )
  })

  it('refuse the same parameters as reports, before the response starts', async () => {
    for (const path of ['usage/export', 'requests/export']) {
      for (const [query, param] of [
        ['from=2026-11-02&to=2026-11-01', 'from'],
        ['format=xml', 'format'],
        ['mode=both', 'mode'],
      ] as const) {
        const response = await gateway.fetch(`/api/${path}?${query}`, { key })
        await expectError(response, { status: 400, code: 'invalid_value', param })
      }
    }
  })

  describe('that are long', () => {
    const path = `requests/export?${range}&format=json&order=asc`
    beforeEach(async () => {
      // Makes rows so large that the export exceeds the socket buffers of a client that does not read.
      const attempts = JSON.stringify([
        { provider: 'p'.repeat(20_000), upstreamModel: '', outcome: 'ok', durationMs: 0 },
      ])
      for (let from = 0; from < 2000; from += 500) {
        await gateway.addUsage(rows(500, (index) => ({ id: `req_${from + index}`, attempts })))
      }
    })

    const held = async () => {
      const text = await (await fetch(`${gateway.url}/metrics`)).text()
      return Number(/^gateway_buffered_bytes (\d+)/m.exec(text)![1])
    }

    it('wait for a slow client, with little memory', async () => {
      const response = await open(path)
      await until('it waits', async () => (await held()) > 0)
      // The gateway holds at most two pages of 200 rows.
      expect(await held()).to.be.below(2 * 200 * 21_000)
      const { rows: count } = JSON.parse(await textOf(response)) as Requests
      expect(count).to.equal(2000)
      await until('nothing is held', async () => (await held()) === 0)
    })

    it('end when the client disconnects', async () => {
      const response = await open(path)
      await until('it waits', async () => (await held()) > 0)
      response.destroy()
      await until('nothing is held', async () => (await held()) === 0)
    })

    it('end with their key', async () => {
      const response = await open(path)
      await until('it waits', async () => (await held()) > 0)
      await gateway.revokeKeys()
      await until('nothing is held', async () => (await held()) === 0)
      const failure = await textOf(response).catch((error: unknown) => error)
      expect(failure).to.be.an('error')
    })

    it('close the connection if they fail in the middle', async () => {
      await gateway.addUsage(rows(1, () => ({ id: 'req_z', at: begin + 5000, attempts: '{' })))
      const failure = await textOf(await open(path)).catch((error: unknown) => error)
      expect(failure).to.be.an('error')
    })
  })
})

/** A strict parser of RFC 4180. */
function parsedCsv(text: string): string[][] {
  const cell = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/y
  const lines: string[][] = [[]]
  while (cell.lastIndex < text.length) {
    const [whole, quoted, plain = '', end] = cell.exec(text) ?? []
    if (whole === undefined) throw new Error(`This is no CSV: ${text.slice(-80)}`)
    lines.at(-1)!.push(quoted?.replaceAll('""', '"') ?? plain)
    if (end === '\r\n') lines.push([])
  }
  return lines.slice(0, -1)
}
