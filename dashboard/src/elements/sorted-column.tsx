import { place, setQuery } from '../data/place.ts'

/** The column that the address sorts by, empty for none, and the direction. */
export function orderInPlace(): { column: string; isDown: boolean } {
  const text = place.value.query.get('sort') ?? ''
  return { column: text.replace(/^-/, ''), isDown: text.startsWith('-') }
}

type Options = { class?: string | undefined; isDownFirst?: boolean }

/** A column heading that sorts the list, and reverses the order when clicked again. */
export function sortedBy(column: string, title: string, options: Options = {}) {
  const { class: name, isDownFirst = false } = options
  const { column: chosen, isDown } = orderInPlace()
  const isChosen = chosen === column
  const isNextDown = isChosen ? !isDown : isDownFirst
  return {
    title: (
      <button
        type="button"
        class="sort"
        onClick={() => setQuery({ sort: isNextDown ? `-${column}` : column })}
      >
        {title}
        <span aria-hidden="true">{isChosen ? (isDown ? '\u00A0↓' : '\u00A0↑') : ''}</span>
      </button>
    ),
    class: name,
    'aria-sort': isChosen ? (isDown ? 'descending' : 'ascending') : undefined,
  } as const
}
