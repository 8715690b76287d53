import { isMembers, itemsOf, membersOf, textIn, type Members } from '../any-json.ts'
import { GatewayError } from '../error.ts'
import { isDay } from '../time.ts'

/** Columns of a vendor's cost export. In JSON they are members of buckets and of their results; `a_b` is `b` of `a`. */
export type CostForm = {
  /** A date, a time, or Unix seconds. */
  day: string
  /** The model, or what else was charged. OpenAI adds the kind of tokens after a comma. */
  item: string
  amount: string
  /** Absent if the column of amounts is always in dollars. */
  currency?: string
  /** 2 for an amount in cents. */
  amountDecimals?: number
  /** Decimals to which the vendor rounds each row. */
  roundedDecimals?: number
}

/** A charge in 1e-18 dollars, and by how much rounding may have changed it. A day without charges has no item. */
export type ExportedCost = { day: string; item?: string; attoUsd: bigint; roundingAttoUsd: bigint }

/** A row, or a bucket without results. */
type Row = { place: string; cells: Map<string, string>; isEmpty?: boolean }

const rowsMax = 200_000
const attoDecimals = 18
const kinds = 'It must be a cost export as CSV, or the JSON of an API of costs.'

/** Reads a cost export in the first form that has its day column. Throws `invalid_value` with line and column. */
export function readCostExport<Form extends CostForm>(text: string, forms: readonly Form[]) {
  const content = text.replace(/^\uFEFF/, '')
  const isJson = /^\s*[[{]/.test(content)
  const rows = isJson ? jsonRows(content) : csvRows(content)
  let form: Form | undefined
  const costs: ExportedCost[] = []
  for (const row of rows) {
    form ??= forms.find(({ day }) => row.cells.has(day))
    if (form === undefined) {
      const columns = forms.map(({ day }) => day).join(', ')
      throw refused(row.place, columns, `none of these columns exists. ${kinds}`)
    }
    if (costs.push(costOf(row, form)) > rowsMax)
      throw refused(row.place, form.day, `there are more than ${rowsMax} rows. Export fewer days.`)
  }
  if (form === undefined) throw refused('Line 1', 'any', `there are no rows. ${kinds}`)
  return { form, costs }
}

function costOf({ place, cells, isEmpty = false }: Row, form: CostForm): ExportedCost {
  const { amountDecimals = 0, roundedDecimals } = form
  const day = dayIn(cells.get(form.day) ?? '')
  if (day === undefined) throw refused(place, form.day, `${shown(cells.get(form.day))} is no day.`)
  const amount = isEmpty ? '' : cells.get(form.amount)
  if (amount === undefined) throw refused(place, form.amount, `this column is missing. ${kinds}`)
  const none = { day, attoUsd: 0n, roundingAttoUsd: 0n }
  if (amount === '') return none
  const currency = form.currency && cells.get(form.currency)
  if (currency !== undefined && currency.toLowerCase() !== 'usd')
    throw refused(place, form.currency!, `${shown(currency)} is not USD, which the ledger has.`)
  const attoUsd = readAmount(amount, attoDecimals - amountDecimals)
  if (attoUsd === undefined) throw refused(place, form.amount, `${shown(amount)} is no amount.`)
  const [item = ''] = (cells.get(form.item) ?? '').slice(0, 256).split(',')
  const half =
    roundedDecimals === undefined ? 0n : 10n ** BigInt(attoDecimals - roundedDecimals) / 2n
  return { day, item: item.trim(), attoUsd, roundingAttoUsd: half }
}

/**
 * Reads a decimal number, with an exponent or without, as an integer of so many decimals; further ones are cut off.
 * OpenAI writes zero as `0E-6176`.
 */
export function readAmount(text: string, decimals: number): bigint | undefined {
  const found = /^(-?)(\d{1,15})(?:\.(\d*))?(?:e([+-]?\d{1,5}))?$/i.exec(text.trim())
  if (found === null) return undefined
  const [, sign, whole = '', fraction = '', exponent = '0'] = found
  const kept = fraction.slice(0, 100)
  const shift = decimals + Number(exponent) - kept.length
  const digits = BigInt(`${sign}${whole}${kept}`)
  // At most 115 digits: a larger divisor, which would take long to make, gives zero too.
  if (shift < 0) return digits / 10n ** BigInt(Math.min(-shift, 120))
  return shift > decimals ? undefined : digits * 10n ** BigInt(shift)
}

function dayIn(text: string): string | undefined {
  const isSeconds = /^\d{9,11}$/.test(text)
  const day = isSeconds
    ? new Date(Number(text) * 1000).toISOString().slice(0, 10)
    : text.slice(0, 10)
  return /^\d{4}-\d\d-\d\d$/.test(day) && isDay(day) ? day : undefined
}

/** The rows below the header, as of RFC 4180. */
function* csvRows(content: string): Generator<Row> {
  const cell = /(?:"([^"]*(?:""[^"]*)*)"|([^",\r\n]*))(,|\r?\n|$)/gy
  let header: string[] | undefined
  let cells: string[] = []
  for (let [line, first, end] = [1, 1, ','] as [number, number, string | undefined]; end !== '';) {
    const found = cell.exec(content)
    const column = header?.[cells.length] ?? String(cells.length + 1)
    if (found === null) throw refused(`Line ${line}`, column, 'a quotation mark is wrong.')
    end = found[3]
    cells.push(found[1]?.replaceAll('""', '"') ?? found[2]!)
    line += found[0].split('\n').length - 1
    if (end === ',') continue
    const wrong = `there are ${cells.length} columns, but ${header?.length} in the header.`
    const place = `Line ${first}`
    if (header === undefined) header = cells.map((name) => name.trim())
    else if (cells.length === header.length)
      yield { place, cells: new Map(header.map((name, at) => [name, cells[at]!])) }
    else if (cells.join('') !== '') throw refused(place, column, wrong)
    cells = []
    first = line
  }
}

/** The results of each bucket of a page, or of a list of pages. */
function* jsonRows(content: string): Generator<Row> {
  const pages = [parsedExactly(content)].flat()
  const buckets = pages.flatMap((page) => itemsOf(membersOf(page)['data']))
  for (const [index, bucket] of buckets.entries()) {
    const { results, ...own } = membersOf(bucket)
    const place = `data[${index}]`
    if (itemsOf(results).length === 0) yield { place, cells: new Map(flat(own)), isEmpty: true }
    for (const [at, result] of itemsOf(results).entries()) {
      const cells = new Map([...flat(own), ...flat(membersOf(result))])
      yield { place: `${place}.results[${at}]`, cells }
    }
  }
}

type WithSource = (key: string, value: unknown, context: { source?: string }) => unknown

/** Parses JSON with each number as its text, which a float could not hold exactly. */
function parsedExactly(content: string): unknown {
  const exact: WithSource = (_, value, { source }) => (typeof value === 'number' ? source : value)
  try {
    // The library of types does not know the third parameter yet.
    return JSON.parse(content, exact as Parameters<typeof JSON.parse>[1])
  } catch (error) {
    throw refused('The file', 'any', `it is not JSON: ${(error as Error).message}.`)
  }
}

/** The texts of an object, and those of its objects as `a_b`. */
function flat(members: Members): [string, string][] {
  return Object.entries(members).flatMap(([name, value]): [string, string][] => {
    if (!isMembers(value)) return [[name, textIn(value) ?? '']]
    return Object.entries(value).map(([inner, one]) => [`${name}_${inner}`, textIn(one) ?? ''])
  })
}

function refused(place: string, column: string, reason: string): GatewayError {
  return new GatewayError('invalid_value', `${place}, column ${column}: ${reason}`)
}

function shown(text = ''): string {
  return JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text)
}
