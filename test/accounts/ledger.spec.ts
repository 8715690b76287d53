import { expect } from 'chai'
import { createLedger } from '../../src/accounts/ledger.ts'
import type { UsageRow } from '../../src/core/receipt.ts'
import { makeFolder } from '../support/folder.ts'
import { openGuardedStore } from '../support/store.ts'
import { until } from '../support/until.ts'
import { forEachStore } from '../support/each-store.ts'

const row = (id: string): UsageRow => ({
  id,
  at: 1_800_000_000_000,
  accountId: 'acc_1',
  keyId: 'key_1',
  mode: 'live',
  face: 'chat',
  modality: 'chat',
  model: 'gpt-5.2',
  provider: 'openai',
  upstreamModel: 'gpt-5.2',
  servedModel: 'gpt-5.2-2026-01-01',
  outcome: 'ok',
  errorCode: null,
  cache: 'miss',
  tags: ['team=search'],
  usage: {
    inputTokens: 10,
    outputTokens: 20,
    cachedInputTokens: 4,
    cacheWriteTokens: 3,
    imageInputTokens: 2,
    imageOutputTokens: 7,
    audioInputTokens: 1,
    audioOutputTokens: 6,
    serviceTier: 'flex',
    reasoningTokens: 5,
    images: 0,
    estimated: false,
  },
  costNanoUsd: 123_456,
  costStatus: 'exact',
  pricing: {
    prices: { input_tokens: 2_500_000n, output_tokens: 10_000_000n },
    multiplier: 5n * 10n ** 17n,
  },
  attempts: [
    { provider: 'openai', upstreamModel: 'gpt-5.2', outcome: 'ok', startMs: 1, durationMs: 3 },
  ],
  durationMs: 12.6,
  askedModel: 'GPT 5.2',
  warnings: [
    { param: 'seed', requested: 7, applied: null, reason: 'It takes none.' },
    { param: 'user', requested: 'a part of a prompt', applied: '1024x1024', reason: 'So.' },
  ],
  savedNanoUsd: 9_000_000_000,
})

/** A store whose commits the test resolves or rejects. */
function openCommits() {
  const commits: { ids: string[]; resolve: () => void; reject: (error: Error) => void }[] = []
  const insert = (_table: string, rows: readonly object[]) =>
    new Promise<void>((resolve, reject) => {
      // The cast is safe, because only ledger rows are stored here.
      commits.push({ ids: rows.map((one) => (one as { id: string }).id), resolve, reject })
    })
  return { commits, store: { insert } }
}

/** The pause between groups is longer than any test. */
const limits = { ledgerGroupRowsMax: 100, ledgerGroupPauseMaxMs: 60_000 }
const openLedger = (
  store: Parameters<typeof createLedger>[0],
  changed: Partial<typeof limits> = {},
) => createLedger(store, () => undefined, { ...limits, ...changed })

/** Collects the ids of rows whose promises have settled. */
function watch(write: (row: UsageRow) => Promise<void>) {
  const settled: string[] = []
  const add = (id: string) =>
    void write(row(id)).then(
      () => settled.push(id),
      (error: Error) => settled.push(`${id}: ${error.message}`),
    )
  return { settled, add }
}

forEachStore('the ledger', () => {
  it('commits rows that arrive together in one group, and later rows in the next', async () => {
    const { commits, store } = openCommits()
    const { settled, add } = watch(openLedger(store))
    for (const id of ['a', 'b', 'c']) add(id)
    await until('the first commit has begun', () => commits.length === 1)
    for (const id of ['d', 'e']) add(id)
    expect(commits.map(({ ids }) => ids)).to.deep.equal([['a', 'b', 'c']])
    expect(settled).to.deep.equal([])
    commits[0]!.resolve()
    await until('the second commit has begun', () => commits.length === 2)
    expect(settled).to.deep.equal(['a', 'b', 'c'])
    expect(commits[1]!.ids).to.deep.equal(['d', 'e'])
    commits[1]!.resolve()
    await until('all are settled', () => settled.length === 5)
  })

  it('extends a group while each turn of the event loop adds rows', async () => {
    const { commits, store } = openCommits()
    const { settled, add } = watch(openLedger(store))
    add('a')
    add('b')
    setImmediate(() => {
      add('c')
      setImmediate(() => add('d'))
    })
    await until('the first commit has begun', () => commits.length === 1)
    expect(commits[0]!.ids).to.deep.equal(['a', 'b', 'c', 'd'])
    commits[0]!.resolve()
    await until('all are settled', () => settled.length === 4)
  })

  it('without a pause waits only for its own turn', async () => {
    const { commits, store } = openCommits()
    const { add } = watch(openLedger(store, { ledgerGroupPauseMaxMs: 0 }))
    add('a')
    add('b')
    setImmediate(() => add('c'))
    await until('the first commit has begun', () => commits.length === 1)
    expect(commits[0]!.ids).to.deep.equal(['a', 'b'])
  })

  it('commits a single row without waiting', async () => {
    const { commits, store } = openCommits()
    const { settled, add } = watch(openLedger(store))
    add('a')
    setImmediate(() => setImmediate(() => add('b')))
    await until('the first commit has begun', () => commits.length === 1)
    expect(commits[0]!.ids).to.deep.equal(['a'])
    commits[0]!.resolve()
    await until('the second commit has begun', () => commits.length === 2)
    commits[1]!.resolve()
    await until('all are settled', () => settled.length === 2)
  })

  it('commits at most the maximum of rows in a group', async () => {
    const { commits, store } = openCommits()
    const { settled, add } = watch(openLedger(store, { ledgerGroupRowsMax: 2 }))
    for (const id of ['a', 'b', 'c', 'd', 'e']) add(id)
    for (const [index, ids] of [['a', 'b'], ['c', 'd'], ['e']].entries()) {
      await until(`commit ${index} has begun`, () => commits.length === index + 1)
      expect(commits[index]!.ids).to.deep.equal(ids)
      commits[index]!.resolve()
    }
    await until('all are settled', () => settled.length === 5)
  })

  it('rejects the callers of a failed commit, and continues with the next group', async () => {
    const { commits, store } = openCommits()
    const { settled, add } = watch(openLedger(store))
    add('a')
    await until('the first commit has begun', () => commits.length === 1)
    add('b')
    commits[0]!.reject(new Error('disk full'))
    await until('the second commit has begun', () => commits.length === 2)
    commits[1]!.resolve()
    await until('both are settled', () => settled.length === 2)
    expect(settled).to.deep.equal(['a: disk full', 'b'])
  })

  it('starts a new group after a pause', async () => {
    const { commits, store } = openCommits()
    const { settled, add } = watch(openLedger(store))
    for (const [index, id] of ['a', 'b', 'c'].entries()) {
      add(id)
      await until(`${id} is being committed`, () => commits.length === index + 1)
      commits[index]!.resolve()
      await until(`${id} is settled`, () => settled.length === index + 1)
    }
    expect(commits.map(({ ids }) => ids)).to.deep.equal([['a'], ['b'], ['c']])
  })

  it('stores the values of the receipt', async () => {
    const folder = makeFolder()
    const store = await openGuardedStore(folder.path)
    await openLedger(store)(row('req_1'))
    const rows = await store.db.selectFrom('usage').selectAll().execute()
    await store.close()
    folder.remove()
    expect(rows).to.deep.equal([
      {
        id: 'req_1',
        at: 1_800_000_000_000,
        account_id: 'acc_1',
        key_id: 'key_1',
        mode: 'live',
        face: 'chat',
        modality: 'chat',
        model: 'gpt-5.2',
        provider: 'openai',
        upstream_model: 'gpt-5.2',
        outcome: 'ok',
        error_code: null,
        cache: 'miss',
        tags: '["team=search"]',
        input_tokens: 10,
        cached_input_tokens: 4,
        output_tokens: 20,
        reasoning_tokens: 5,
        images: 0,
        cost_nano_usd: 123_456,
        cost_status: 'exact',
        attempts: JSON.stringify(row('req_1').attempts),
        duration_ms: 13,
        cache_write_tokens: 3,
        image_input_tokens: 2,
        image_output_tokens: 7,
        audio_input_tokens: 1,
        audio_output_tokens: 6,
        served_model: 'gpt-5.2-2026-01-01',
        service_tier: 'flex',
        pricing:
          '{"prices":{"input_tokens":"0.0000000025","output_tokens":"0.00000001"},"multiplier":"0.5"}',
        asked_model: 'GPT 5.2',
        warnings: JSON.stringify([
          { param: 'seed', requested: 7, applied: null, reason: 'It takes none.' },
          { param: 'user', requested: null, applied: '1024x1024', reason: 'So.' },
        ]),
        saved_nano_usd: 9_000_000_000,
      },
    ])
  })
})
