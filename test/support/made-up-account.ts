import type { UsageTable } from '../../src/storage/tables.ts'
import { chanceFrom, type Chance } from './chance.ts'
import type { TestGateway } from './gateway.ts'
import { usageRow } from './usage-row.ts'

/** A kind of call. `weight` is its frequency; costs are in nano-dollars. */
type Kind = {
  model: string
  provider: string
  weight: number
  durationMs: number
} & (
  | { input: number; output: number; inputNanoUsd: number; outputNanoUsd: number }
  | { images: number; imageNanoUsd: number }
)

const kinds: readonly Kind[] = [
  {
    model: 'gpt-5-mini',
    provider: 'openai',
    weight: 34,
    durationMs: 2400,
    input: 1800,
    output: 420,
    inputNanoUsd: 250,
    outputNanoUsd: 2000,
  },
  {
    model: 'claude-opus-4-8',
    provider: 'anthropic',
    weight: 18,
    durationMs: 6900,
    input: 2600,
    output: 900,
    inputNanoUsd: 5000,
    outputNanoUsd: 25_000,
  },
  {
    model: 'gemini-3.5-flash',
    provider: 'google',
    weight: 22,
    durationMs: 1700,
    input: 3200,
    output: 350,
    inputNanoUsd: 500,
    outputNanoUsd: 3000,
  },
  {
    model: 'groq/gpt-oss-120b',
    provider: 'groq',
    weight: 10,
    durationMs: 600,
    input: 900,
    output: 380,
    inputNanoUsd: 150,
    outputNanoUsd: 600,
  },
  {
    model: 'gpt-image-2',
    provider: 'openai',
    weight: 9,
    durationMs: 14_000,
    images: 1,
    imageNanoUsd: 42_000_000,
  },
  {
    model: 'alibaba/qwen-image-plus',
    provider: 'alibaba',
    weight: 7,
    durationMs: 9000,
    images: 1,
    imageNanoUsd: 30_000_000,
  },
]

const failures = [
  { code: 'rate_limit_exceeded', outcome: 'rate_limited', status: 429 },
  { code: 'timeout', outcome: 'timeout', status: null },
  { code: 'content_policy_violation', outcome: 'rejected', status: 400 },
]

const keyNames = ['Website', 'Mobile app', 'Nightly summaries', 'Design team']
/** Indexes of `keyNames`, each repeated in proportion to the calls of the key. */
const keyShares = [0, 0, 0, 0, 1, 1, 1, 2, 2, 3]
const dayMs = 86_400_000
/** Number of calls per day of the week. */
const callsOfDay = [22, 64, 70, 75, 72, 66, 26]

/**
 * Fills the first account with keys and some weeks of calls up to `now`, as in a small company, the same on each
 * run. Returns the ids of the keys.
 */
export async function makeUpAccount(
  gateway: TestGateway,
  { now, days }: { now: number; days: number },
): Promise<readonly string[]> {
  const keys = await Promise.all(
    keyNames.map((name, index) =>
      createKey(gateway, {
        name,
        mode: 'live',
        ...(index === 0 ? { budget: { usd: '60', period: 'month' } } : {}),
      }),
    ),
  )
  const chance = chanceFrom(20)
  const accountId = (await gateway.db.selectFrom('accounts').select('id').executeTakeFirstOrThrow())
    .id
  const rows: UsageTable[] = []
  for (let day = days - 1; day >= 0; day--) {
    const startMs = now - (now % dayMs) - day * dayMs
    const endMs = Math.min(startMs + dayMs, now)
    const share = (endMs - startMs) / dayMs
    const count = Math.round(callsOfDay[new Date(startMs).getUTCDay()]! * share)
    for (let call = 0; call < count; call++) {
      const at = startMs + chance.below(endMs - startMs)
      const keyId = keys[keyShares[chance.below(keyShares.length)]!]!
      rows.push({ ...madeUpCall(at, chance), account_id: accountId, key_id: keyId })
    }
  }
  await gateway.addUsage(rows)
  return keys
}

async function createKey(gateway: TestGateway, body: object): Promise<string> {
  const answer = await gateway.post('/api/keys', body, { key: gateway.adminKey })
  return ((await answer.json()) as { id: string }).id
}

function madeUpCall(at: number, chance: Chance): UsageTable {
  const kind = drawn(chance)
  const isPicture = 'images' in kind
  // The id starts with the time, so that ids sort by time as real request ids do.
  const random = Array.from({ length: 20 }, () => chance.below(16).toString(16)).join('')
  const id = `req_${at.toString(16).padStart(12, '0')}${random}`
  const durationMs = Math.round(kind.durationMs * (0.5 + chance.below(100) / 80))
  const row: UsageTable = {
    ...usageRow(id, at),
    mode: 'live',
    face: isPicture ? 'images' : chance.below(5) === 0 ? 'mcp' : 'chat',
    modality: isPicture ? 'image' : 'chat',
    model: kind.model,
    duration_ms: durationMs,
  }
  const luck = chance.below(100)
  if (luck < 4) return failed(row, kind, failures[chance.below(failures.length)]!)
  const used = usedBy(kind, chance)
  if (luck < 16) {
    return {
      ...row,
      ...used.columns,
      cache: 'hit',
      cost_nano_usd: 0,
      cost_status: 'cached',
      saved_nano_usd: used.nanoUsd,
      pricing: '{"prices":{}}',
      attempts: '[]',
      duration_ms: 3 + chance.below(5),
    }
  }
  return {
    ...row,
    ...used.columns,
    provider: kind.provider,
    upstream_model: kind.model.split('/').at(-1)!,
    cost_nano_usd: used.nanoUsd,
    cost_status: 'exact',
    pricing: used.pricing,
    attempts: attempts(kind, triedWith(durationMs - 4, luck < 22)),
  }
}

/** Attempts of a successful call, optionally after a failed one. */
function triedWith(durationMs: number, isRepeated: boolean): readonly object[] {
  if (!isRepeated) return [{ outcome: 'ok', startMs: 4, durationMs }]
  const firstMs = Math.round(durationMs / 5)
  return [
    { outcome: 'overloaded', startMs: 4, durationMs: firstMs, status: 503 },
    { outcome: 'ok', startMs: 4 + firstMs, durationMs: durationMs - firstMs },
  ]
}

function drawn(chance: Chance): Kind {
  let left = chance.below(kinds.reduce((sum, { weight }) => sum + weight, 0))
  return kinds.find(({ weight }) => (left -= weight) < 0)!
}

function usedBy(kind: Kind, chance: Chance) {
  if ('images' in kind) {
    const prices = { images: usd(kind.imageNanoUsd) }
    const columns = { input_tokens: 0, output_tokens: 0, images: kind.images }
    return {
      columns,
      nanoUsd: kind.images * kind.imageNanoUsd,
      pricing: JSON.stringify({ prices }),
    }
  }
  const input = Math.round(kind.input * (0.3 + chance.below(100) / 70))
  const output = Math.round(kind.output * (0.2 + chance.below(100) / 60))
  const { inputNanoUsd, outputNanoUsd } = kind
  const prices = { input_tokens: usd(inputNanoUsd), output_tokens: usd(outputNanoUsd) }
  return {
    columns: { input_tokens: input, output_tokens: output },
    nanoUsd: input * inputNanoUsd + output * outputNanoUsd,
    pricing: JSON.stringify({ prices }),
  }
}

function failed(
  row: UsageTable,
  kind: Kind,
  { code, outcome, status }: (typeof failures)[number],
): UsageTable {
  const durationMs = Math.round(row.duration_ms / 2)
  const tried = { outcome, startMs: 4, durationMs, ...(status === null ? {} : { status }) }
  return {
    ...row,
    outcome: 'failed',
    error_code: code,
    cost_nano_usd: 0,
    cost_status: 'exact',
    pricing: '{"prices":{}}',
    input_tokens: 0,
    output_tokens: 0,
    attempts: attempts(kind, [tried]),
  }
}

function attempts({ model, provider }: Kind, tried: readonly object[]): string {
  const upstreamModel = model.split('/').at(-1)
  return JSON.stringify(tried.map((one) => ({ provider, upstreamModel, ...one })))
}

/** Converts nano-dollars to the ledger's decimal dollars. */
function usd(nanoUsd: number): string {
  const text = String(nanoUsd).padStart(10, '0')
  return `${text.slice(0, -9)}.${text.slice(-9)}`.replace(/\.?0+$/, '')
}
