import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import type { components } from '../../generated/types.ts'
import type { UsageTable } from '../../src/storage/tables.ts'
import { runCommand } from '../support/command-line.ts'
import { databaseOf, forEachStore } from '../support/each-store.ts'
import { expectError } from '../support/expect-error.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { usageRow } from '../support/usage-row.ts'

type Schemas = components['schemas']

const january = Date.UTC(2026, 0, 20, 12, 30)
const until = '2026-02-01T00:00:00.000Z'
const idAt = (time: number) => `req_${time.toString(16).padStart(12, '0')}${'0'.repeat(20)}`

forEachStore('the calls of an archived month', () => {
  let folder: TemporaryFolder
  let gateway: TestGateway
  let accountId: string
  let key: string
  let archived: Awaited<ReturnType<typeof runCommand>>
  before(async () => {
    folder = makeFolder()
    gateway = await startGateway()
    accountId = await gateway.createAccount()
    key = await gateway.createKey('live', { accountId, scopes: ['usage:read'] })
    const row = (at: number): UsageTable => ({
      ...usageRow(idAt(at), at),
      account_id: accountId,
      mode: 'live',
      cost_nano_usd: 5_000_000,
    })
    await gateway.addUsage([row(january), row(january + 1000), row(Date.UTC(2026, 10, 21))])
    const settings = join(folder.path, 'gateway.yaml')
    writeFileSync(settings, 'limits: { usage_months: 1 }\n')
    const url = await databaseOf(dirname(gateway.dataDir))
    archived = await runCommand(['archive', folder.path], {
      DATA_DIR: gateway.dataDir,
      CONFIG_FILE: settings,
      ...(url === undefined ? {} : { DATABASE_URL: url }),
    })
  })
  after(async () => {
    await gateway.stop()
    folder.remove()
  })

  const ask = (path: string) => gateway.fetch(`/api/${path}`, { key })
  const read = async (path: string): Promise<unknown> => {
    const response = await ask(path)
    expect(response.status, await response.clone().text()).to.equal(200)
    return response.json()
  }

  const expectMessage = ({ message }: { message: string }, words: RegExp) =>
    void expect(message).to.match(words)

  it('go to a file while the gateway runs', () => {
    expect(archived).to.deep.include({
      code: 0,
      stdout: 'Archived 1 month. 2 rows removed; the sums of reports stay.\n',
    })
    expect(archived.stderr).to.match(/^2026-01: 2 calls for \$0\.01 in \S+, SHA-256 \w{64}\.\n$/)
  })

  it('are answered with their month', async () => {
    expectMessage(
      await expectError(await ask(`requests/${idAt(january)}`), {
        status: 404,
        code: 'not_found',
        param: 'id',
      }),
      /calls of 2026-01 in this account were archived, .* file usage-2026-01\.jsonl\.gz/,
    )
    expectMessage(
      await expectError(await ask(`requests/${idAt(january + 40 * 86_400_000)}`), {
        status: 404,
        code: 'not_found',
        param: 'id',
      }),
      /There is no call/,
    )
  })

  it('are named by the lists that would have them', async () => {
    const whole = (await read('requests')) as Schemas['RequestRecordList']
    expect([whole.data.length, whole.archived_before]).to.deep.equal([1, until])
    const later = (await read(`requests?from=${until}`)) as Schemas['RequestRecordList']
    expect([later.data.length, later.archived_before]).to.deep.equal([1, null])
    const errors = (await read('requests/errors?from=2026-01-01')) as Schemas['RequestErrors']
    expect(errors.archived_before).to.equal(until)
    const recent = (await read('requests/errors')) as Schemas['RequestErrors']
    expect(recent.archived_before).to.equal(null)
  })

  it('are in no export of requests, which is refused', async () => {
    for (const format of ['csv', 'json', 'jsonl']) {
      const path = `requests/export?from=2026-01-01&format=${format}`
      const refused = { status: 400, code: 'invalid_value', param: 'from' }
      expectMessage(
        await expectError(await ask(path), refused),
        /Calls before 2026-02-01T00:00:00\.000Z were archived; the operator has their files/,
      )
    }
    const later = await ask(`requests/export?from=${until}&format=csv`)
    expect((await later.text()).trimEnd().split('\r\n')).to.have.length(2)
  })

  it('stay in reports of whole hours', async () => {
    const report = (await read(
      'usage?from=2026-01-01&group_by=month&order=asc',
    )) as Schemas['UsageReport']
    expect(report.total.calls).to.equal(3)
    expect(report.data[0]).to.deep.include({ month: '2026-01-01T00:00:00.000Z' })
    expect(report.data[0]!.sums).to.deep.include({
      calls: 2,
      cost: { usd: '0.01', nano_usd: 10_000_000 },
    })
    for (const [param, query] of [
      ['from', 'from=2026-01-20T12:30:00Z'],
      ['to', 'from=2026-01-01&to=2026-01-20T12:30:00Z'],
    ] as const) {
      for (const path of ['usage', 'usage/export']) {
        expectMessage(
          await expectError(await ask(`${path}?${query}`), {
            status: 400,
            code: 'invalid_value',
            param,
          }),
          /their sums are hourly\. Set '(from|to)' to a full hour\.$/,
        )
      }
    }
  })

  it('are in no report by tag, since only rows have tags', async () => {
    for (const path of ['usage?group_by=tag', 'usage?tag=a', 'usage/export?group_by=tag']) {
      const refused = { status: 400, code: 'invalid_value', param: 'from' }
      expectMessage(
        await expectError(await ask(`${path}&from=2026-01-01`), refused),
        /Set 'from' to 2026-02-01T00:00:00\.000Z, or leave out the tag\.$/,
      )
    }
  })
})
