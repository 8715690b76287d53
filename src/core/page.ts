import { GatewayError } from './error.ts'

/** The paging parameters of a list request. */
export type PageRequest = { limit: number; cursor?: string | undefined; order: 'asc' | 'desc' }

/** One page of a list, in the contract's form. */
export type Page<Row> = {
  object: 'list'
  data: Row[]
  has_more: boolean
  next_cursor: string | null
}

/** The place of a row in its list: the values that the list is sorted by, the last one unique. */
export type Place = readonly (string | number)[]

/**
 * Makes a page of rows that were read with `limit + 1`: the extra row shows that more follow. `placeOf`
 * returns the place of a row; the next page starts after the last row.
 */
export function pageOf<Row, Item>(
  rows: readonly Row[],
  limit: number,
  { placeOf, toItem }: { placeOf: (row: Row) => Place; toItem: (row: Row) => Item },
): Page<Item> {
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  const more = rows.length > limit && last !== undefined
  return {
    object: 'list',
    data: shown.map(toItem),
    has_more: more,
    next_cursor: more ? cursorOf(placeOf(last)) : null,
  }
}

/** The cursor of the page that follows a row's place. */
export function cursorOf(place: Place): string {
  return Buffer.from(JSON.stringify(place)).toString('base64url')
}

type Kinds = readonly ('string' | 'number')[]

/**
 * Decodes a cursor to a place whose values have these types. Cursors need no signature: a forged cursor only
 * gives rows of the caller's own account. Throws `invalid_value` for any other text.
 */
export function placeIn(cursor: string, kinds: Kinds): Place {
  const place = parsed(cursor)
  const isPlace =
    Array.isArray(place) &&
    place.length === kinds.length &&
    place.every((value, index) => typeof value === kinds[index] && value === value)
  if (isPlace) return (place as Place).map(whole)
  const text = "'cursor' does not belong to this list. Send the `next_cursor` of the previous page."
  throw new GatewayError('invalid_value', text, { param: 'cursor' })
}

/** Requires safe integers, since stores may not accept other numbers. */
function whole(value: string | number): string | number {
  if (typeof value === 'string') return value
  return Math.min(Math.max(Math.trunc(value), Number.MIN_SAFE_INTEGER), Number.MAX_SAFE_INTEGER)
}

function parsed(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString())
  } catch {
    return undefined
  }
}
