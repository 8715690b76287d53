import type { Schemas } from '../../data/api.ts'
import { exactUsd } from '../../data/money.ts'
import { numbers, Table } from '../../elements/table.tsx'

type Pricing = Schemas['ModelPricing']
type Model = Schemas['Model']

/** Current and announced prices of a model. */
export function Prices({ model }: { model: Model }) {
  const { pricing, price_changes: changes = [] } = model
  return (
    <section class="card">
      <h2>Prices</h2>
      <PriceTables pricing={pricing} />
      {changes.map(({ from, pricing: changed }) => (
        <>
          <h3>From {from} on</h3>
          <PriceTables pricing={changed} />
        </>
      ))}
    </section>
  )
}

function PriceTables({ pricing }: { pricing: Pricing }) {
  const pictures = pricing.per_image ?? []
  const tokens = tokenRows(pricing)
  if (pictures.length === 0 && tokens.length === 0) {
    return (
      <p class="quiet">
        The catalog has no price for this model, so the cost of a call is unknown in advance.
      </p>
    )
  }
  return (
    <>
      {pictures.length > 0 && <PicturePrices prices={pictures} />}
      {pricing.per_image_is_estimate === true && (
        <p class="hint">The provider bills tokens; the prices per picture are estimates.</p>
      )}
      {pricing.reference_image_usd !== undefined && (
        <p class="hint">Each input picture adds {exactUsd(pricing.reference_image_usd)}.</p>
      )}
      {tokens.length > 0 && <TokenPrices rows={tokens} pricing={pricing} />}
      {pricing.web_search !== undefined && (
        <p class="hint">
          {searchUnits[pricing.web_search.unit]} adds {exactUsd(pricing.web_search.usd)}.
        </p>
      )}
      <Circumstances pricing={pricing} />
    </>
  )
}

const searchUnits: Record<Schemas['WebSearchPrice']['unit'], string> = {
  search: 'Each search of the web',
  query: 'Each query of a search of the web',
  answer: 'Searching the web for an answer',
}

const traits = [
  { name: 'quality', title: 'Quality' },
  { name: 'size_class', title: 'Size class' },
  { name: 'size', title: 'Size' },
  { name: 'pixels_max', title: 'Pixels' },
] as const

/** Prices per picture, with a column for each property that they depend on. */
function PicturePrices({ prices }: { prices: readonly Schemas['ImagePrice'][] }) {
  const used = traits.filter(({ name }) => prices.some((price) => price[name] !== undefined))
  const text = (price: Schemas['ImagePrice'], name: (typeof traits)[number]['name']) => {
    const value = price[name]
    if (value === undefined) return 'any other'
    return name === 'pixels_max' ? `at most ${Number(value).toLocaleString('en-US')}` : value
  }
  return (
    <Table
      label="Prices per picture"
      columns={[...used.map(({ title }) => title), numbers('Per picture')]}
    >
      {prices.map((price, index) => (
        <tr key={index}>
          {used.map(({ name }) => (
            <td key={name}>{text(price, name)}</td>
          ))}
          <td class="number">{exactUsd(price.usd)}</td>
        </tr>
      ))}
    </Table>
  )
}

type TokenPrice = Extract<keyof Pricing, `${string}_per_million_tokens`>
type TokenKind = { name: TokenPrice; title: string }

const tokenTitles: Readonly<Record<TokenPrice, string>> = {
  input_per_million_tokens: 'Input',
  cached_input_per_million_tokens: 'Cached input',
  cache_write_per_million_tokens: 'Input written to the cache',
  image_input_per_million_tokens: 'Picture input',
  audio_input_per_million_tokens: 'Audio input',
  output_per_million_tokens: 'Output',
  thinking_output_per_million_tokens: 'Output with reasoning',
  image_output_per_million_tokens: 'Picture output',
  audio_output_per_million_tokens: 'Audio output',
}

function tokenRows(pricing: Pricing): TokenKind[] {
  const names = Object.keys(tokenTitles) as TokenPrice[]
  return names
    .filter((name) => pricing[name] !== undefined)
    .map((name) => ({ name, title: tokenTitles[name] }))
}

function TokenPrices({ rows, pricing }: { rows: readonly TokenKind[]; pricing: Pricing }) {
  const tiers = pricing.tiers ?? []
  const priceIn = (prices: object, { name }: TokenKind): string => {
    const value = (prices as Pricing)[name] ?? pricing[name]
    return value === undefined ? '–' : exactUsd(value)
  }
  return (
    <Table
      label="Prices per million tokens"
      columns={[
        'Per million tokens',
        numbers(tiers.length === 0 ? 'Price' : 'Any input'),
        ...tiers.map(({ input_tokens_above: above }) =>
          numbers(`Above ${above.toLocaleString('en-US')}`),
        ),
      ]}
    >
      {rows.map((row) => (
        <tr key={row.name}>
          <td>{row.title}</td>
          <td class="number">{priceIn(pricing, row)}</td>
          {tiers.map((tier) => (
            <td class="number" key={tier.input_tokens_above}>
              {priceIn(tier, row)}
            </td>
          ))}
        </tr>
      ))}
    </Table>
  )
}

/** Price multipliers for service tiers and off-peak hours. */
function Circumstances({
  pricing: { service_tiers: tiers = [], off_peak: cheap },
}: {
  pricing: Pricing
}) {
  return (
    <>
      {tiers.map(({ service_tier: tier, multiplier }) => (
        <p class="hint" key={tier}>
          Service tier {tier}: {multiplier} times the price.
        </p>
      ))}
      {cheap !== undefined && (
        <p class="hint">
          {cheap.multiplier} times the price outside of{' '}
          {cheap.peak.map(({ from, to }) => `${from} to ${to}`).join(', ')} (UTC).
        </p>
      )}
    </>
  )
}
