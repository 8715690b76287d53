import { useEffect, useState } from 'preact/hooks'
import { Refusal, type Schemas } from '../../data/api.ts'
import { toRefusal } from '../../data/load.ts'
import { exactUsd, roughUsd } from '../../data/money.ts'
import { call, type Mode } from '../../data/calling.ts'
import type { Request } from './image-request.ts'
import { makesPictures, type Model } from './models.ts'

type Quote = Schemas['PriceQuote']
type RouteQuote = Schemas['RouteQuote']
/** Price of each request, in order; while `isAsking`, prices of the previous requests. */
type Prices = { quotes: readonly (Quote | Refusal)[]; isAsking: boolean }

/** A request and its model. */
type Asked = { model: Model; request: Request }

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
 * The total price as text for the button: '…' while loading, undefined when a price is unknown. An estimate
 * has a typical price before the maximum.
 */
export function sumText({ quotes, isAsking }: Prices, asked: readonly Asked[]): string | undefined {
  if (isAsking) return '…'
  const routes = quotes.map(firstRoute)
  if (routes.length === 0 || routes.some((one) => !one?.amount)) return undefined
  if (quotes.every((quote) => !(quote instanceof Refusal) && !quote.is_charged)) return 'free'
  const nano = routes.reduce((sum, one) => sum + BigInt(one!.amount!.nano_usd), 0n)
  const usd = `${nano / 1_000_000_000n}.${String(nano % 1_000_000_000n).padStart(9, '0')}`
  if (routes.every((one) => one!.kind === 'exact')) return exactUsd(usd)
  const usual = routes.map((one, index) => typicalUsd(one!, asked[index]))
  const about = roughUsd(usual.reduce((sum, one) => sum + one, 0))
  return estimate(about, roughUsd(Number(usd)))
}

const estimate = (about: string, most: string) =>
  about === most ? `at most ${most}` : `about ${about}, at most ${most}`

/** Input bytes per token in a typical call; the maximum assumes one byte per token and the longest answer. */
const bytesPerToken = 4
const typicalOutputTokens = 500
/** Tokens of a square picture of 1024 pixels by its quality, as OpenAI's page on prices has them. */
const pictureTokens: Readonly<Record<string, number>> = { low: 272, medium: 1056, high: 4160 }

/** What a call usually costs at the route, in dollars. */
function typicalUsd(route: RouteQuote, asked: Asked | undefined): number {
  if (route.kind === 'exact') return Number(route.amount?.usd)
  const outputTokens = typicalOutput(asked)
  return (route.lines ?? []).reduce((sum, { what, units, unit_price: price }) => {
    const isOutput = what.endsWith('output_tokens')
    const usual = isOutput ? Math.min(units, outputTokens) : units / bytesPerToken
    return sum + usual * Number(price)
  }, 0)
}

function typicalOutput(asked: Asked | undefined): number {
  if (asked === undefined || !makesPictures(asked.model)) return typicalOutputTokens
  // Requests for pictures have these members; a chat request that makes a picture has none of them.
  const { n = 1, quality = 'medium' } = asked.request.body as { n?: number; quality?: string }
  return n * (pictureTokens[quality] ?? pictureTokens['medium']!)
}

type ListProps = { asked: readonly Asked[]; prices: Prices }

/** Price of the request for each model. */
export function PriceList({ asked, prices }: ListProps) {
  const isOfThese = prices.quotes.length === asked.length
  return (
    <ul class="prices" aria-label="Prices" aria-busy={prices.isAsking}>
      {asked.map((one, index) => (
        <li key={one.model.id}>
          <span>{one.model.id}</span>{' '}
          <Price quote={isOfThese ? prices.quotes[index] : undefined} asked={one} />
        </li>
      ))}
    </ul>
  )
}

/** Price of one request, with its calculation. */
function Price({ quote, asked }: { quote: Quote | Refusal | undefined; asked: Asked }) {
  if (quote instanceof Refusal) return <p class="fault">{quote.message}</p>
  const route = firstRoute(quote)
  if (quote === undefined || route === undefined) return <p class="quiet">…</p>
  if (route.amount === null) return <p class="quiet">The catalog has no price for this model.</p>
  return (
    <details class="price">
      <summary>
        {quote.is_charged ? chargedText(route, asked) : `free here, ${liveText(route, asked)} live`}
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

function chargedText(route: RouteQuote, asked: Asked | undefined): string {
  const usd = route.amount!.usd
  if (route.kind === 'exact') return exactUsd(usd)
  return estimate(roughUsd(typicalUsd(route, asked)), roughUsd(Number(usd)))
}

/** What a call of a sandbox costs with a live key. */
function liveText(route: RouteQuote, asked: Asked | undefined): string {
  if (route.kind === 'exact') return exactUsd(route.amount!.usd)
  return `about ${roughUsd(typicalUsd(route, asked))}`
}

function unitsText(units: number, what: string): string {
  const words = what.replaceAll('_', ' ')
  return `${units.toLocaleString('en-US')} ${units === 1 ? words.replace(/s$/, '') : words}`
}
