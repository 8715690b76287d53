import { chosenIn, place, setQuery } from '../../data/place.ts'
import { lastRanges, rangeInPlace, type Range } from '../../data/ranges.ts'
import { Select } from '../../elements/controls.tsx'
import { InputField } from '../../elements/field.tsx'
import { isFilteredBy } from '../../elements/filters.tsx'
import { lastMonths } from '../../elements/range-choice.tsx'

const { timeZone: zone } = new Intl.DateTimeFormat().resolvedOptions()
const clock = new Intl.DateTimeFormat('en', {
  dateStyle: 'medium',
  timeStyle: 'short',
  hourCycle: 'h23',
})

/** The times in the address: `from` and `to`, else those of `range`; empty for any time. */
export function timesInPlace(): Partial<Range> {
  const exact = chosenIn<Partial<Range>>(['from', 'to'])
  if (Object.keys(exact).length > 0) return exact
  return place.value.query.get('range') ? rangeInPlace('month').now : {}
}

/** A range in words, in the reader's time zone. */
export function rangeInWords({ from, to }: Partial<Range>): string {
  const [start, end] = [from, to].map((at) => {
    const atMs = Date.parse(at ?? '')
    return Number.isNaN(atMs) ? at : clock.format(atMs)
  })
  if (start !== undefined && end !== undefined) return `${start} – ${end}`
  if (start !== undefined) return `since ${start}`
  return end === undefined ? 'any time' : `until ${end}`
}

/** Stands for the times `from` and `to`. */
const exactly = 'exactly'

/** Chooses the range of the list. */
export function RangeFilter() {
  const { query } = place.value
  const times = timesInPlace()
  const isExact = isFilteredBy(['from', 'to'])
  const chosen = isExact ? exactly : (query.get('range') ?? '')
  const offered = [
    ['', 'Any time'],
    ...lastRanges.map(({ name, title }) => [name, `Last ${title}`] as const),
    // Months are in UTC, as in reports.
    ...lastMonths(new Date()).map(
      ([name, title]) => [name, zone === 'UTC' ? title : `${title} (UTC)`] as const,
    ),
    [exactly, isExact ? rangeInWords(times) : 'Exact times…'],
  ] as const
  const isOffered = offered.some(([name]) => name === chosen)
  const choices = isOffered ? offered : [...offered, [chosen, rangeInWords(times)] as const]
  const choose = (name: string) => {
    const { from, to } = { ...rangeInPlace('day').now, ...times }
    setQuery({
      from: name === exactly ? from : undefined,
      to: name === exactly ? to : undefined,
      range: name === exactly ? undefined : name,
    })
  }
  return (
    <Select
      class={chosen === '' ? 'small' : 'small chosen'}
      aria-label="Time"
      choices={choices}
      chosen={chosen}
      onChoose={choose}
    />
  )
}

/** Fields for the exact times, while they are in the address. */
export function ExactTimes() {
  if (!isFilteredBy(['from', 'to'])) return null
  return (
    <>
      <Moment name="from" label={`From (${zone})`} />
      <Moment name="to" label={`Until (${zone})`} />
    </>
  )
}

/** A time in the reader's time zone; the address contains it in UTC. */
function Moment({ name, label }: { name: 'from' | 'to'; label: string }) {
  const atMs = Date.parse(place.value.query.get(name) ?? '')
  const local = Number.isNaN(atMs)
    ? ''
    : new Date(atMs - new Date(atMs).getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
  const change = (text: string) => {
    const date = new Date(text)
    setQuery({ [name]: Number.isNaN(date.getTime()) ? undefined : date.toISOString() })
  }
  return (
    <div class="filter set exact">
      <InputField
        label={label}
        type="datetime-local"
        value={local}
        onChange={(event) => change(event.currentTarget.value)}
      />
    </div>
  )
}
