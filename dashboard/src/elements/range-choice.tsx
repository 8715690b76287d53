import { setQuery } from '../data/place.ts'
import { lastRanges, type RangeOfTime } from '../data/ranges.ts'
import { ModeChoice, Toggle } from './toggle.tsx'

/** Number of calendar months offered, the current month included. */
const monthsOffered = 12
const monthLabel = new Intl.DateTimeFormat('en', {
  month: 'long',
  year: 'numeric',
  timeZone: 'UTC',
})

/** The time range of a page: the last hours or days, a calendar month or two dates; and the mode. */
export function RangeChoice({ range }: { range: RangeOfTime }) {
  const isOfDates = range.name.includes('..')
  const months = lastMonths(new Date())
  const isMonth = months.some(([month]) => month === range.name)
  return (
    <div class="row" role="group" aria-label="Range and mode">
      <div class="segments">
        {lastRanges.map(({ name, title }) => (
          <Toggle key={name} isOn={range.name === name} change={{ range: name }}>
            {title}
          </Toggle>
        ))}
      </div>
      <select
        class={isMonth ? 'small chosen' : 'small'}
        aria-label="Calendar month"
        onChange={({ currentTarget: { value } }) => value !== '' && setQuery({ range: value })}
      >
        <option value="" selected={!isMonth}>
          Month (UTC)
        </option>
        {months.map(([month, title]) => (
          <option key={month} value={month} selected={month === range.name}>
            {title}
          </option>
        ))}
      </select>
      <Toggle isOn={isOfDates} change={{ range: datesOf(range).join('..') }}>
        Choose dates
      </Toggle>
      {isOfDates && <Dates range={range} />}
      <ModeChoice />
    </div>
  )
}

/** The first and the last day of the range. */
function datesOf({ now }: RangeOfTime): [string, string] {
  const last = new Date(Date.parse(now.to) - 1).toISOString()
  return [now.from.slice(0, 10), last.slice(0, 10)]
}

function Dates({ range }: { range: RangeOfTime }) {
  const [first, last] = datesOf(range)
  const choose = (from: string, to: string) => {
    if (from === '' || to === '') return
    setQuery({ range: from <= to ? `${from}..${to}` : `${to}..${from}` })
  }
  return (
    <>
      <input
        class="small"
        type="date"
        aria-label="First day"
        value={first}
        onChange={(event) => choose(event.currentTarget.value, last)}
      />
      <input
        class="small"
        type="date"
        aria-label="Last day"
        value={last}
        onChange={(event) => choose(first, event.currentTarget.value)}
      />
    </>
  )
}

/** The current month and those before it, such as `2026-10`, with their names. */
export function lastMonths(now: Date): (readonly [name: string, title: string])[] {
  return Array.from({ length: monthsOffered }, (_, index) => {
    const first = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - index))
    return [first.toISOString().slice(0, 7), monthLabel.format(first)] as const
  })
}
