/**
 * `npm run -s compare-prices -- <api.json>`: compares today's prices of the catalog's language models with those of
 * models.dev, downloaded from https://models.dev/api.json. Prints one line for each row that differs. Exits with 1
 * when a row differs, with 2 when the list cannot be read. The list may be wrong too: check the vendor's page.
 */
import { readFileSync } from 'node:fs'
import { readCatalogRows, statusAt } from '../src/catalog/catalog.ts'
import type { CatalogModel } from '../src/core/model.ts'

type Pricing = CatalogModel['pricing']
type Members = Readonly<Record<string, unknown>>

/** Each price: its name in the catalog, in the output and at models.dev. */
const prices = [
  { name: 'input_per_million_tokens', title: 'input', listed: 'input' },
  { name: 'cached_input_per_million_tokens', title: 'cached input', listed: 'cache_read' },
  { name: 'cache_write_per_million_tokens', title: 'cache write', listed: 'cache_write' },
  { name: 'audio_input_per_million_tokens', title: 'audio input', listed: 'input_audio' },
  { name: 'output_per_million_tokens', title: 'output', listed: 'output' },
  {
    name: 'thinking_output_per_million_tokens',
    title: 'output with reasoning',
    listed: 'reasoning',
  },
  { name: 'audio_output_per_million_tokens', title: 'audio output', listed: 'output_audio' },
] as const

/** Providers that have another name at models.dev. */
const listedNames: Readonly<Record<string, string>> = { moonshot: 'moonshotai' }

class UnreadableList extends Error {}

function main(): void {
  const [path, ...more] = process.argv.slice(2)
  if (path === undefined || more.length > 0) {
    return refuse('Name the list: npm run -s compare-prices -- <api.json>')
  }
  try {
    compare(readList(path))
  } catch (error) {
    if (!(error instanceof UnreadableList)) throw error
    refuse(error.message)
  }
}

function refuse(reason: string): void {
  process.stderr.write(`${reason}\n`)
  process.exitCode = 2
}

const remedy = 'Download it from https://models.dev/api.json.'

function readList(path: string): Members {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw new UnreadableList(`${path} cannot be read: ${(error as Error).message}. ${remedy}`)
  }
  let list: unknown
  try {
    list = JSON.parse(text)
  } catch {
    throw new UnreadableList(`${path} is not JSON. ${remedy}`)
  }
  const providers = Object.values(membersOf(list))
  if (providers.length === 0 || providers.some((one) => !isMembers(membersOf(one)['models']))) {
    throw new UnreadableList(
      `${path} is not models.dev's api.json, an object of providers with 'models'. ${remedy}`,
    )
  }
  return membersOf(list)
}

function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function membersOf(value: unknown): Members {
  return isMembers(value) ? value : {}
}

function compare(list: Members): void {
  const now = Date.now()
  const counts = { differ: 0, agree: 0, absent: 0 }
  const lines: string[] = []
  for (const row of readCatalogRows()) {
    // models.dev prices image models by other rules.
    if (row.image !== undefined || statusAt(row, now) === 'deactivated') continue
    const cost = listedCost(list, row)
    const differences = cost === undefined ? [] : differencesOf(pricingOn(row, now), cost)
    if (cost === undefined) counts.absent++
    else if (differences.length === 0) counts.agree++
    else counts.differ++
    if (differences.length > 0) lines.push(`${row.id}: ${differences.join('; ')}`)
  }
  const { differ, agree, absent } = counts
  lines.push(`${differ} rows differ, ${agree} agree, ${absent} are not in the list.`)
  process.stdout.write(`${lines.join('\n')}\n`)
  if (differ > 0) process.exitCode = 1
}

function pricingOn({ pricing, price_changes: changes = [] }: CatalogModel, nowMs: number): Pricing {
  return changes.findLast(({ from }) => Date.parse(from) <= nowMs)?.pricing ?? pricing
}

type Listed = { cost: Members; tiers: readonly { above: number; cost: Members }[] }

/** The listed prices of a row's model; undefined where the list has none. */
function listedCost(list: Members, row: CatalogModel): Listed | undefined {
  const provider = membersOf(list[listedNames[row.provider] ?? row.provider])
  const { cost } = membersOf(membersOf(provider['models'])[row.upstream_model])
  if (!isMembers(cost)) return undefined
  const { context_over_200k: long, tiers = [] } = cost
  // The older member `context_over_200k` also appears beside `tiers`, whatever their threshold.
  const found = Array.isArray(tiers) && tiers.length > 0 ? tiers.map(membersOf) : []
  const stepped = found.map((tier) => ({ above: membersOf(tier['tier'])['size'], cost: tier }))
  const steps = found.length === 0 && isMembers(long) ? [{ above: 200_000, cost: long }] : stepped
  const read = { cost, tiers: steps.map(({ above, cost }) => ({ above: Number(above), cost })) }
  for (const one of [cost, ...steps.map((step) => step.cost)]) {
    for (const { listed } of prices) {
      if (one[listed] === undefined || Number.isFinite(one[listed])) continue
      throw new UnreadableList(`${row.id} has a price that is not a number: ${listed}. ${remedy}`)
    }
  }
  if (read.tiers.every(({ above }) => above > 0)) return read
  throw new UnreadableList(`${row.id} has a tier without 'tier.size'. ${remedy}`)
}

function differencesOf(pricing: Pricing, { cost, tiers }: Listed): string[] {
  const own = pricing.tiers ?? []
  // Some tiers begin at the threshold, others above it.
  const isAt = (above: number, tier: { input_tokens_above: number }) =>
    Math.abs(tier.input_tokens_above - above) <= 1
  return [
    ...pricesThatDiffer(pricing, cost),
    ...tiers.flatMap(({ above, cost: listed }) => {
      const tier = own.find((one) => isAt(above, one))
      const found = tier === undefined ? ['tier missing'] : pricesThatDiffer(tier, listed)
      return found.length === 0 ? [] : [`above ${above}: ${found.join(', ')}`]
    }),
    ...own
      .filter((tier) => !tiers.some(({ above }) => isAt(above, tier)))
      .map((tier) => `above ${tier.input_tokens_above}: tier not listed`),
  ]
}

/** Prices that differ; skips prices that the list omits. */
function pricesThatDiffer(own: Pricing, cost: Members): string[] {
  return prices.flatMap(({ name, title, listed }) => {
    // `listedCost` has checked that it is a number.
    const there = cost[listed] as number | undefined
    // The catalog omits the price of reasoning if it equals that of other output.
    const here = own[name] ?? (listed === 'reasoning' ? own.output_per_million_tokens : undefined)
    if (there === undefined || Number(here) === there) return []
    // The list has an output price of 0 for embedding models, which have no output.
    const hasInputOnly = here === undefined && own.input_per_million_tokens !== undefined
    if (hasInputOnly && listed === 'output' && there === 0) return []
    return [`${title} ${here ?? 'missing'}, listed ${there}`]
  })
}

main()
