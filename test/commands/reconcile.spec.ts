import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { accountRow } from '../support/callers.ts'
import { runCommand } from '../support/command-line.ts'
import { databaseOf, forEachStore } from '../support/each-store.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { openTestStore } from '../support/store.ts'
import { usageRow } from '../support/usage-row.ts'

type Call = {
  day: number
  model: string
  provider?: string
  nanoUsd: number | null
  mode?: string
  account?: string
}

const october = (day: number) => `2026-10-${String(day).padStart(2, '0')}`
const seconds = (day: number) => Date.parse(october(day)) / 1000

/** The cost export of OpenAI's dashboard; a row without an amount is a day without charges. */
const openAiCsv = (rows: readonly [day: number, amount: string, item: string][]) =>
  [
    'start_time,end_time,start_time_iso,end_time_iso,amount_value,amount_currency,quantity,quantity_unit,line_item,user_id,api_key_id,project_id,organization_id,project_name,organization_name,user_email,api_source',
    ...rows.map(
      ([day, amount, item]) =>
        `${seconds(day)},${seconds(day + 1)},${october(day)}T00:00:00+00:00,,${amount},${amount && 'usd'},,,"${item}",,,proj_1,org-1,"Say ""hi""",Example,,`,
    ),
    '',
  ].join('\r\n')

/** The cost export of the Claude Console, whose amounts are rounded to cents. */
const anthropicCsv = (rows: readonly [day: number, usd: string, model: string][]) =>
  [
    '\uFEFF"usage_date_utc",model,workspace,api_key,usage_type,context_window,token_type,cost_usd,list_price_usd,cost_type,inference_geo,speed',
    ...rows.map(
      ([day, usd, model]) =>
        `${october(day)},${model},Default,key,message,≤ 200k,output,${usd},${usd},token,global,`,
    ),
  ].join('\n')

type Report = {
  from: string
  to: string
  drifts: boolean
  total: { exported_usd: string; ledger_usd: string; difference_usd: string }
  models: {
    model: string
    since: string | null
    difference_usd: string
    days: { day: string; difference_usd: string }[]
  }[]
}

forEachStore('the command reconcile', () => {
  let folder: TemporaryFolder
  let file: string
  beforeEach(async () => {
    folder = makeFolder()
    file = join(folder.path, 'costs.csv')
    const store = await openTestStore(folder.path)
    for (const id of ['acc_1', 'acc_2'])
      await store.db.insertInto('accounts').values(accountRow(id, id)).execute()
    await store.close()
  })
  afterEach(() => folder.remove())

  const record = async (...calls: readonly Call[]) => {
    const store = await openTestStore(folder.path)
    const rows = calls.map(({ day, model, nanoUsd, ...more }, index) => ({
      ...usageRow(`req_${index}`, Date.parse(`${october(day)}T23:59:59Z`) + index),
      account_id: more.account ?? 'acc_1',
      mode: more.mode ?? 'live',
      provider: more.provider ?? 'openai',
      model,
      cost_nano_usd: nanoUsd,
    }))
    await store.commit(store.insertions('usage', rows))
    await store.close()
  }
  const run = async (content: string, ...words: string[]) => {
    writeFileSync(file, content)
    const variables = { DATA_DIR: folder.path, DATABASE_URL: await databaseOf(folder.path) }
    return runCommand(['reconcile', file, ...words], variables)
  }
  const report = async (
    content: string,
    ...words: string[]
  ): Promise<Report & { code: number }> => {
    const { code, stdout } = await run(content, '--json', ...words)
    return { ...(JSON.parse(stdout) as Report), code }
  }

  it('finds the doctored days of an OpenAI export, by model, since the first', async () => {
    await record(
      { day: 1, model: 'gpt-5-nano', nanoUsd: 500_000_000 },
      { day: 2, model: 'gpt-5-nano', nanoUsd: 500_000_000, account: 'acc_2' },
      { day: 3, model: 'gpt-5-nano', nanoUsd: 500_000_000 },
      { day: 2, model: 'gpt-4o', nanoUsd: 2_000_000_001 },
      { day: 2, model: 'gpt-4o', nanoUsd: 9_000_000_000, provider: 'azure' },
      { day: 2, model: 'gpt-4o', nanoUsd: 9_000_000_000, mode: 'test' },
      { day: 9, model: 'gpt-4o', nanoUsd: 9_000_000_000 },
    )
    const true1 = [
      [1, '0.300000000000000000000000000000', 'gpt-5-nano, input_tokens'],
      [1, '0.2', 'gpt-5-nano, output_tokens'],
      [2, '0.5', 'gpt-5-nano-2025-08-07, input'],
      [3, '5e-1', 'gpt-5-nano, input_tokens'],
      [2, '2.0000000010', 'gpt-4o'],
      [3, '0E-6176', 'gpt-5-nano-2025-08-07, cached input'],
      [3, '2.e-99999', 'gpt-4o'],
      [3, `0.${'0'.repeat(6000)}1`, 'gpt-4o'],
      [4, '', ''],
    ] as [number, string, string][]
    const same = await run(openAiCsv(true1))
    expect(same.code, same.stdout).to.equal(0)
    expect(same.stdout).to.match(/^Costs of openai from 2026-10-01 to 2026-10-04 \(UTC\)/)
    expect(same.stdout).to.include('2 of 2 models agree within $0.01 a day.')
    const doctored = true1.map(([day, amount, item]) =>
      day > 1 && /^0\.5|^5e/.test(amount) ? [day, '0.75', item] : [day, amount, item],
    ) as typeof true1
    const { code, stdout } = await run(openAiCsv(doctored))
    expect(code).to.equal(1)
    expect(stdout.split('\n').map((line) => line.replaceAll(/ +/g, ' '))).to.deep.equal([
      'Costs of openai from 2026-10-01 to 2026-10-04 (UTC), export and ledger',
      'model since days export USD ledger USD difference USD',
      'gpt-5-nano 2026-10-02 2 2 1.5 0.5',
      'total 4.000000001 3.500000001 0.5',
      '1 of 2 models agree within $0.01 a day.',
      '',
    ])
  })

  it('adds exactly what floats cannot', async () => {
    const tenth = { model: 'gpt-4o', nanoUsd: 100_000_000 }
    await record({ day: 1, ...tenth }, { day: 1, ...tenth }, { day: 1, ...tenth })
    const found = await report(
      openAiCsv([[1, '0.30000000049999', 'gpt-4o']]),
      '--tolerance-usd',
      '0',
    )
    expect(found).to.deep.include({ drifts: false, code: 0 })
    const more = await report(openAiCsv([[1, '0.3000000005', 'gpt-4o']]), '--tolerance-usd', '0')
    expect(more.total.difference_usd).to.equal('0.000000001')
    expect(more.drifts).to.equal(true)
  })

  it('finds models that only one side has, credits, and charges without a model', async () => {
    await record({ day: 1, model: 'gpt-4o', nanoUsd: 1_000_000_000 })
    const found = await report(
      openAiCsv([
        [1, '1', 'Web search tool'],
        [2, '-0.25', ''],
        [2, '3', 'gpt-unheard-of, input'],
      ]),
    )
    expect(
      found.models.map(({ model, since, difference_usd: usd }) => [model, since, usd]),
    ).to.deep.equal([
      ['openai/Web search tool', '2026-10-01', '1'],
      ['(no model)', '2026-10-02', '-0.25'],
      ['openai/gpt-unheard-of', '2026-10-02', '3'],
      ['gpt-4o', '2026-10-01', '-1'],
    ])
    expect(found.total.difference_usd).to.equal('2.75')
  })

  it('compares whole days when the export is not grouped by model, and counts calls without a cost', async () => {
    await record(
      { day: 1, model: 'gpt-4o', nanoUsd: 1_000_000_000 },
      { day: 1, model: 'gpt-5-nano', nanoUsd: null },
    )
    const { code, stdout } = await run(openAiCsv([[1, '1.5', '']]))
    expect(code).to.equal(1)
    expect(stdout).to.match(/^\(all\) +2026-10-01 +1 +1\.5 +1 +0\.5$/m)
    expect(stdout).to.include('The ledger omits 1 calls of unknown cost.')
  })

  it('reads the Claude Console, whose cents are rounded by row, under names for people', async () => {
    await record(
      { day: 1, model: 'claude-haiku-4-5', provider: 'anthropic', nanoUsd: 1_023_400_000 },
      { day: 2, model: 'claude-haiku-4-5', provider: 'anthropic', nanoUsd: 1_000_000_000 },
    )
    const rows = [
      [1, '0.51', 'Claude Haiku 4.5'],
      [1, '0.50', 'Claude Haiku 4.5'],
      [2, '1.00', 'Claude Haiku 4.5'],
    ] as [number, string, string][]
    expect(await report(anthropicCsv(rows))).to.deep.include({ code: 0, drifts: false })
    const doctored = await report(anthropicCsv([...rows, [2, '0.03', 'Claude Haiku 4.5']]))
    expect(doctored.models[0]).to.include({ model: 'claude-haiku-4-5', since: '2026-10-02' })
  })

  it("reads the pages of both vendors' cost APIs as JSON", async () => {
    await record(
      { day: 1, model: 'gpt-4o', nanoUsd: 123_456_789 },
      { day: 2, model: 'gpt-4o', nanoUsd: 500_000_000 },
      { day: 1, model: 'claude-haiku-4-5', provider: 'anthropic', nanoUsd: 1_234_500_000 },
    )
    const bucket = (day: number, ...values: (number | string)[]) => ({
      object: 'bucket',
      start_time: seconds(day),
      end_time: seconds(day + 1),
      results: values.map((value) => ({
        object: 'organization.costs.result',
        amount: { value, currency: 'usd' },
        line_item: 'gpt-4o-2024-08-06, input',
        project_id: null,
      })),
    })
    const page = (...data: object[]) => ({ object: 'page', data, has_more: false, next_page: null })
    const openAi = [page(bucket(1, 0.123456789)), page(bucket(2))]
    const found = await report(JSON.stringify(openAi))
    expect(found).to.include({ from: '2026-10-01', to: '2026-10-02', code: 1 })
    expect(found.models[0]!.days).to.have.length(2)
    expect(found.models[0]).to.include({ since: '2026-10-02', difference_usd: '-0.5' })
    const exact = await report(JSON.stringify([page(bucket(1, 1.23456789e-1), bucket(2, '0.5'))]))
    expect(exact).to.deep.include({ drifts: false })
    const anthropic = {
      data: [
        {
          starting_at: '2026-10-01T00:00:00Z',
          ending_at: '2026-10-02T00:00:00Z',
          results: [
            {
              amount: '123.45',
              currency: 'USD',
              cost_type: 'tokens',
              model: 'claude-haiku-4-5-20251001',
              workspace_id: null,
            },
          ],
        },
      ],
      has_more: false,
      next_page: null,
    }
    const claude = await report(JSON.stringify(anthropic), '--tolerance-usd', '0')
    expect(claude).to.deep.include({ provider: 'anthropic', drifts: false })
  })

  it('compares another provider that is billed by the same vendor', async () => {
    await record({ day: 1, model: 'own/gpt-4o', provider: 'own', nanoUsd: 1_000_000_000 })
    const found = await report(openAiCsv([[1, '1', 'gpt-4o']]), '--provider', 'own')
    expect(found.models.map(({ model }) => model)).to.deep.equal(['own/gpt-4o'])
  })
})
