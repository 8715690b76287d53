import { useState } from 'preact/hooks'
import type { Schemas } from '../../data/api.ts'
import { modelNamed, pathOf } from '../../data/catalog.ts'
import { useLoad } from '../../data/load.ts'
import { pricesOf } from '../../data/model-facts.ts'
import { placesOf, shortCount } from '../../data/money.ts'
import { addressOf } from '../../data/place.ts'
import { Health, MeasuredOver } from '../../elements/health.tsx'
import { Icon } from '../../elements/icon.tsx'
import { Money } from '../../elements/money.tsx'
import { orderInPlace, sortedBy } from '../../elements/sorted-column.tsx'
import { numbers, Table } from '../../elements/table.tsx'
import { Waiting } from '../../elements/waiting.tsx'
import { comparedPrice, isForInputOnly, stateOf, type Entry } from './entries.ts'
import { filtered, Filters, modalityNames, searchInPlace } from './filters.tsx'

/** Number of rows shown before "Show all". */
const rowsShown = 60

/** All models that the account may use, filtered and sorted. */
export function ModelList({ catalog }: { catalog: Schemas['CatalogList'] }) {
  const listed = filtered(catalog.data)
  const search = searchInPlace()
  // Only the gateway knows all names: snapshots, prefixes and spellings.
  const isName = listed.length === 0 && search !== ''
  const named = useLoad(isName ? `model ${search}` : 'no model', (signal) =>
    isName ? modelNamed(search, signal) : Promise.resolve([]),
  )
  const found = sorted(isName ? filtered(named.data ?? [], '') : listed)
  const [isWhole, setWhole] = useState(false)
  const shown = isWhole ? found : found.slice(0, rowsShown)
  return (
    <>
      <div class="head">
        <h1>Models</h1>
        <p class="quiet" role="status">
          {found.length === 1 ? '1 model' : `${found.length} models`}
        </p>
      </div>
      <Filters entries={catalog.data} />
      {isName && found.length > 0 && (
        <p class="hint above">
          The gateway answers to <code>{search}</code> with this model.
        </p>
      )}
      {isName && named.isLoading && <Waiting what="Looking up the name" />}
      {found.length === 0 ? (
        <div class="card empty">
          <h2>No model matches</h2>
          <p>Remove a filter, or search for another name.</p>
        </div>
      ) : (
        <>
          <p class="hint above">Prices are per million tokens, unless the row says otherwise.</p>
          <Models entries={shown} />
        </>
      )}
      {shown.length < found.length && (
        <button type="button" class="plain" onClick={() => setWhole(true)}>
          Show all {found.length}
        </button>
      )}
      <MeasuredOver measured={catalog.measured} />
    </>
  )
}

type Column = 'name' | 'price' | 'context'

const valueOf: Record<Column, (entry: Entry) => string | number | undefined> = {
  name: ({ model }) => model.name.toLowerCase(),
  price: comparedPrice,
  context: ({ model }) => model.context_window ?? undefined,
}

/** Sorts by the column in the address, unknown values last. Without a column, usable models come first. */
function sorted(entries: Entry[]): Entry[] {
  const { column: name, isDown } = orderInPlace()
  const column = (Object.keys(valueOf) as Column[]).find((one) => one === name)
  if (column === undefined) {
    return entries.toSorted((one, other) => Number(other.is_usable) - Number(one.is_usable))
  }
  const value = valueOf[column]
  const turn = isDown ? -1 : 1
  return entries.toSorted((one, other) => {
    const [a, b] = [value(one), value(other)]
    if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined)
    return a === b ? 0 : turn * (a < b ? -1 : 1)
  })
}

function Models({ entries }: { entries: readonly Entry[] }) {
  const all = entries.map(pricesOf)
  const places = placesOf(all.flatMap(({ input, output }) => [input, output]))
  return (
    <div class="card">
      <Table
        label="Models"
        class="models stacked"
        opens
        columns={[
          sortedBy('name', 'Model'),
          'State',
          numbers('Input price'),
          sortedBy('price', 'Output price', { class: 'number' }),
          sortedBy('context', 'Context', { class: 'number' }),
          'Last hour',
        ]}
      >
        {entries.map((entry) => (
          <Row key={entry.model.id} entry={entry} places={places} />
        ))}
      </Table>
    </div>
  )
}

const icons = {
  chat: 'requests',
  image: 'picture',
  embedding: 'models',
  moderation: 'models',
} as const

function Row({ entry, places }: { entry: Entry; places: number }) {
  const { model, modality, routes } = entry
  const { text, look } = stateOf(entry)
  const type = modalityNames[modality]
  const route = routes.find(({ is_configured: isConfigured }) => isConfigured)
  return (
    <tr>
      <td class="first" title={model.name}>
        <span class="type" title={type}>
          <Icon name={icons[modality]} />
          <span class="hidden">{type}: </span>
        </span>
        <a href={addressOf(pathOf(model.id))}>{model.name}</a>
        <code class="hint">{model.id}</code>
      </td>
      <td>
        <span class={`state ${look}`}>{text}</span>
      </td>
      <Prices entry={entry} places={places} />
      <td class={`number ${model.context_window == null ? 'minor' : 'at-end'}`} data-head="Context">
        {model.context_window == null ? (
          <span class="quiet">–</span>
        ) : (
          shortCount(model.context_window)
        )}
      </td>
      <td class="minor">
        {route === undefined || route.health.attempts === 0 ? (
          <span class="quiet">–</span>
        ) : (
          <Health health={route.health} />
        )}
      </td>
    </tr>
  )
}

/** Cells of the input and the output price; a price per picture spans both. */
function Prices({ entry, places }: { entry: Entry; places: number }) {
  const { input, output, unit } = pricesOf(entry)
  if (unit !== undefined) {
    return (
      <td class="number beside" colSpan={2}>
        <span class="hint">{unit}</span> <Money usd={output} places={places} />
      </td>
    )
  }
  return (
    <>
      <td class="number minor">
        <Money usd={input} places={places} />
      </td>
      <td class="number beside">
        {isForInputOnly(entry) ? (
          <span class="quiet">–</span>
        ) : (
          <Money usd={output} places={places} />
        )}
      </td>
    </>
  )
}
