import { useEffect, useState } from 'preact/hooks'
import { Refusal, type Schemas } from '../../data/api.ts'
import { toRefusal } from '../../data/load.ts'
import { exactUsd, shortUsd } from '../../data/money.ts'
import { call, type Mode } from '../../data/calling.ts'
import type { Request } from './image-request.ts'
import type { Model } from './models.ts'

type Quote = Schemas['PriceQuote']
type RouteQuote = Schemas['RouteQuote']
/** Price of each request, in order; while `isAsking`, prices of the previous requests. */
type Prices = { quotes: readonly (Quote | Refusal)[]; isAsking: boolean }

/** Debounce delay for price requests while the person types. */
const pauseMs = 250

/** Prices of the requests, loaded again when a request changes. */
export function usePrices(requests: readonly Request[], mode: Mode): Prices {
  const asked = JSON.stringify(
    requests.map(({ operation, body }) => ({ operation, request: body })),
  )
  const [known, setKnown] = useState<{ of: string; quotes: Prices['quotes'] }>({
    of: '',
    quotes: [],
  })
  const wanted = `${mode} ${asked}`
  useEffect(() => {
    const controller = new AbortController()
    const { signal } = controller
    const ask = async () => {
      const quotes = await Promise.all(
        (JSON.parse(asked) as object[]).map((one) =>
          call('/v1/prices', one, { mode, signal })
            .then((response) => response.json() as Promise<Quote>)
            .catch(toRefusal),
        ),
      )
      if (!signal.aborted) setKnown({ of: wanted, quotes })
    }
    const timer = setTimeout(() => void ask(), pauseMs)
    return () => {
      clearTimeout(timer)
      controller.abort()
    }
  }, [wanted])
  return { quotes: known.quotes, isAsking: known.of !== wanted }
}

/** The quote of the first route, which answers the call unless the route fails. */
function firstRoute(quote: Quote | Refusal | undefined): RouteQuote | undefined {
  return quote === undefined || quote instanceof Refusal ? undefined : quote.routes[0]
}

/**
 * The total price as text for the button: '…' while loading, undefined when a price is unknown. For chat, a
 * typical price comes before the maximum.
 */
export function sumText({ quotes, isAsking }: Prices, isTalk = false): string | undefined {
  if (isAsking) return '…'
  const routes = quotes.map(firstRoute)
  if (routes.length === 0 || routes.some((one) => !one?.amount)) return undefined
  const nano = routes.reduce((sum, one) => sum + BigInt(one!.amount!.nano_usd), 0n)
  const usd = `${nano / 1_000_000_000n}.${String(nano % 1_000_000_000n).padStart(9, '0')}`
  const isExact = routes.every((one) => one!.kind === 'exact')
  if (isExact) return exactUsd(usd)
  const about = isTalk
    ? `about ${shortUsd(typicalUsd(routes.flatMap((one) => one?.lines ?? [])))}, `
    : ''
  return `${about}at most ${exactUsd(usd)}`
}

/** Input bytes per token in a typical call; the maximum assumes one byte per token and the longest answer. */
const bytesPerToken = 4
const typicalOutputTokens = 500

function typicalUsd(lines: readonly Schemas['CostLine'][]): string {
  const usd = lines.reduce((sum, { what, units, unit_price: price }) => {
    const isOutput = what === 'output_tokens'
    const usual = isOutput ? Math.min(units, typicalOutputTokens) : units / bytesPerToken
    return sum + usual * Number(price)
  }, 0)
  return usd.toFixed(9)
}

/** Price of the request for each model. */
export function PriceList({ models, prices }: { models: readonly Model[]; prices: Prices }) {
  const isOfThese = prices.quotes.length === models.length
  return (
    <ul class="prices" aria-label="Prices" aria-busy={prices.isAsking}>
      {models.map(({ id }, index) => (
        <li key={id}>
          <span>{id}</span> <Price quote={isOfThese ? prices.quotes[index] : undefined} />
        </li>
      ))}
    </ul>
  )
}

/** Price of one request, with its calculation. */
function Price({ quote }: { quote: Quote | Refusal | undefined }) {
  if (quote instanceof Refusal) return <p class="fault">{quote.message}</p>
  const route = firstRoute(quote)
  if (quote === undefined || route === undefined) return <p class="quiet">…</p>
  if (route.amount === null) return <p class="quiet">The catalog has no price for this model.</p>
  return (
    <details class="price">
      <summary>
        {route.kind === 'exact' ? '' : 'at most '}
        {exactUsd(route.amount.usd)}
        {!quote.is_charged && <span class="quiet"> in the sandbox, not charged</span>}
      </summary>
      <ul>
        {(route.lines ?? []).map(({ what, units, unit_price: price, amount }) => (
          <li key={what}>
            {unitsText(units, what)} × ${price} = ${amount}
          </li>
        ))}
        {quote.routes.slice(1).map((other, index) => (
          <li key={`route ${index}`} class="quiet">
            If {index === 0 ? route.provider : 'the previous route'} fails: {other.model} at{' '}
            {other.provider}, {other.amount === null ? 'unknown' : exactUsd(other.amount.usd)}
          </li>
        ))}
      </ul>
      {[...quote.warnings, ...route.warnings].map(({ param, reason }) => (
        <p key={param} class="hint">
          {param}: {reason}
        </p>
      ))}
    </details>
  )
}

function unitsText(units: number, what: string): string {
  const words = what.replaceAll('_', ' ')
  return `${units.toLocaleString('en-US')} ${units === 1 ? words.replace(/s$/, '') : words}`
}
