import { expect } from 'chai'
import { forEachStore } from '../support/each-store.ts'
import { startGateway, suiteClock, type TestGateway } from '../support/gateway.ts'
import { until } from '../support/until.ts'
import { usageRow } from '../support/usage-row.ts'

const dayMs = 86_400_000
const priced = (input: string, output = input) => ({
  input_per_million_tokens: input,
  output_per_million_tokens: output,
})
const catalog = {
  'openai/old': {
    pricing: priced('1'),
    deactivated_at: '2026-12-02',
    successor: 'openai/dear',
  },
  'openai/swapped': {
    pricing: priced('1', '2'),
    deactivated_at: '2026-11-20',
    successor: 'openai/dear',
  },
  'openai/dear': { pricing: priced('2.5') },
  'openai/rising': {
    pricing: priced('1', '3'),
    price_changes: [{ from: '2026-12-01', pricing: priced('2', '3') }],
  },
  'openai/ends': { pricing: priced('1'), deactivated_at: '2026-12-03' },
  'openai/far': { pricing: priced('1'), deactivated_at: '2027-06-01', successor: 'openai/dear' },
}
const old =
  'openai/old retires on 2026-12-02; its calls go to openai/dear, which costs 2.5 times as much.'

forEachStore('models in use that retire or change their price', () => {
  let later: number
  let gateway: TestGateway
  beforeEach(async () => {
    later = 0
    gateway = await startGateway({ file: { catalog }, clock: () => suiteClock() + later })
  })
  afterEach(() => gateway.stop())

  const use = async (model: string, more: { mode?: string; daysAgo?: number } = {}) => {
    const { mode = 'live', daysAgo = 1 } = more
    const { id: account } = await gateway.db
      .selectFrom('accounts')
      .select('id')
      .executeTakeFirstOrThrow()
    const row = usageRow(`req_${model}`, suiteClock() - daysAgo * dayMs)
    await gateway.addUsage([{ ...row, account_id: account, mode, model }])
  }
  /** The sentences of each log line. */
  const logged = (of = gateway): string[][] =>
    [...of.logText().matchAll(/^.*"models in use change".*$/gm)].map(
      ([line]) => (JSON.parse(line) as { models: string[] }).models,
    )
  /** The retirements that the metric has, by model. */
  const retirements = async (of = gateway): Promise<Record<string, number>> => {
    const text = await (await of.fetch('/metrics', { key: null })).text()
    const series = text.matchAll(
      /^gateway_model_retirement_timestamp_seconds\{model="(.+)"\} (.+)$/gm,
    )
    return Object.fromEntries(series.map(([, model, value]) => [model, Number(value)]))
  }
  let reloads = 0
  /** Reloads, and waits until the models in use were read again. */
  const look = async (more: object = {}, of = gateway) => {
    const name = `openai/reload-${++reloads}`
    const known = { [name]: { pricing: priced('1'), deactivated_at: '2027-09-01' } }
    const file = { catalog: { ...catalog, ...known }, routes: { [name]: ['openai'] }, ...more }
    expect((await of.reload(file)).status).to.equal(200)
    await until('the models were read', async () => name in (await retirements(of)))
  }

  it('are not logged without a call of them', async () => {
    await use('openai/dear')
    await use('openai/old', { mode: 'test' })
    await use('openai/swapped', { daysAgo: 31 })
    await look()
    expect(logged()).to.deep.equal([])
    expect(await retirements()).to.have.all.keys(`openai/reload-${reloads}`)
  })

  it('are logged after calls, soonest first, with the ratio of prices', async () => {
    for (const model of Object.keys(catalog)) await use(model)
    await look()
    expect(logged()).to.deep.equal([
      [
        'openai/swapped retired on 2026-11-20; its calls go to openai/dear, which costs ' +
          '2.5 times as much for input, 1.25 times as much for output.',
        'openai/rising costs 2 times as much for input from 2026-12-01 on.',
        old,
        'openai/ends retires on 2026-12-03; its calls are refused from then on.',
      ],
    ])
  })

  it('are logged long after the day if they are still called, as after an upgrade', async () => {
    await gateway.reload({ catalog, aliases: { house: 'gpt-4.1-nano' } })
    await use('gpt-image-1')
    await look()
    expect(logged()).to.deep.equal([
      [
        'gpt-image-1 retired on 2026-10-23; its calls are refused from then on. ' +
          'Use gpt-image-2.6-flare, which costs 0.75 times as much for output of pictures.',
      ],
    ])
  })

  it('have the dates of all retirements in the metric', async () => {
    for (const model of ['openai/old', 'openai/far', 'openai/rising']) await use(model)
    await look()
    expect(await retirements()).to.deep.equal({
      'openai/old': Date.parse('2026-12-02') / 1000,
      'openai/far': Date.parse('2027-06-01') / 1000,
      [`openai/reload-${reloads}`]: Date.parse('2027-09-01') / 1000,
    })
  })

  it('are also those of keys, routes, aliases and defaults', async () => {
    const named = [
      { aliases: { house: 'openai/old' } },
      { routes: { 'openai/old': ['openai'] }, aliases: {} },
      { default_image_model: 'openai/old' },
    ]
    for (const [index, more] of named.entries()) {
      await gateway.reload({ catalog, ...more })
      await until('the line is written', () => logged().length > index)
      expect(logged()[index]).to.deep.equal([old])
      later += dayMs
    }
    await gateway.createKey('live', { models: ['openai/ends'] })
    await look()
    expect(logged().at(-1)!.join()).to.contain('openai/ends')
  })

  it('are logged again after a day, or when they differ, and not else', async () => {
    await use('openai/old')
    await look()
    await look()
    expect(logged()).to.deep.equal([[old]])
    later = dayMs
    await look()
    expect(logged()).to.deep.equal([[old], [old]])
    await use('openai/ends')
    await look()
    expect(logged().map((sentences) => sentences.length)).to.deep.equal([1, 1, 2])
  })

  it('are logged by each process at first, and after a day by one of all', async () => {
    await use('openai/old')
    await look()
    const clock = () => suiteClock() + later
    await using other = await startGateway({ file: { catalog }, clock, beside: gateway })
    await look({}, other)
    expect([logged().length, logged(other).length]).to.deep.equal([1, 1])
    for (const day of [1, 2]) {
      later = day * dayMs
      await look({}, day === 1 ? gateway : other)
      await look({}, day === 1 ? other : gateway)
      expect([logged().length, logged(other).length]).to.deep.equal([2, day])
    }
  })

  it('are named up to twenty', async () => {
    const many = Array.from({ length: 23 }, (_, index) => `openai/many-${index}`)
    const row = { pricing: priced('1'), deactivated_at: '2026-12-05' }
    for (const model of many) await use(model)
    const more = Object.fromEntries(many.map((model) => [model, row]))
    await gateway.reload({ catalog: more })
    await until('the line is written', () => logged().length > 0)
    const [sentences] = logged()
    expect(sentences).to.have.length(21)
    expect(sentences!.at(-1)).to.equal('3 more models change.')
  })
})
