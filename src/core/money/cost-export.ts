import { pipeline, Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { CsvError, parse } from 'csv-parse'
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
type ExportedCost = { day: string; item?: string; attoUsd: bigint; roundingAttoUsd: bigint }

/** A row, or a bucket without results. */
type Row = { place: string; cells: Readonly<Record<string, string>>; isEmpty?: boolean }

const rowsMax = 200_000
const attoDecimals = 18
const kinds = 'It must be a cost export as CSV, or the JSON of an API of costs.'

/** Reads a cost export in the first form that has its day column. Rejects with `invalid_value`, with line and column. */
export async function readCostExport<Form extends CostForm>(text: string, forms: readonly Form[]) {
  const content = text.replace(/^\uFEFF/, '')
  const isJson = /^\s*[[{]/.test(content)
  const rows = isJson ? jsonRows(content) : csvRows(content)
  let form: Form | undefined
  const costs: ExportedCost[] = []
  for await (const row of rows) {
    form ??= forms.find(({ day }) => row.cells[day] !== undefined)
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
  const day = dayIn(cells[form.day] ?? '')
  if (day === undefined) throw refused(place, form.day, `${shown(cells[form.day])} is no day.`)
  const amount = isEmpty ? '' : cells[form.amount]
  if (amount === undefined) throw refused(place, form.amount, `this column is missing. ${kinds}`)
  const none = { day, attoUsd: 0n, roundingAttoUsd: 0n }
  if (amount === '') return none
  const currency = form.currency && cells[form.currency]
  if (currency !== undefined && currency.toLowerCase() !== 'usd')
    throw refused(place, form.currency!, `${shown(currency)} is not USD, which the ledger has.`)
  const attoUsd = readAmount(amount, attoDecimals - amountDecimals)
  if (attoUsd === undefined) throw refused(place, form.amount, `${shown(amount)} is no amount.`)
  const [item = ''] = (cells[form.item] ?? '').slice(0, 256).split(',')
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
async function* csvRows(content: string): AsyncGenerator<Row> {
  const columns = (names: string[]) => names.map((name) => name.trim())
  // A file that was edited may have both.
  const record_delimiter = ['\r\n', '\n']
  const parser = parse({ columns, record_delimiter, info: true, skip_empty_lines: true })
  try {
    const parsed = pipeline(Readable.from(piecesOf(content)), parser, () => undefined)
    for await (const { record, info } of parsed as AsyncIterable<ParsedRow>)
      yield { place: `Line ${info.lines}`, cells: record }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    const { message, lines, column } = error
    const [reason = ''] = message.split(':')
    throw refused(`Line ${String(lines)}`, String(column), `${reason.toLowerCase()}.`)
  }
}

type ParsedRow = { record: Record<string, string>; info: { lines: number } }

const pieceLength = 65_536

/** Pieces of a text; other work of the process runs between them. */
async function* piecesOf(text: string): AsyncGenerator<string> {
  for (let at = 0; at < text.length; at += pieceLength) {
    yield text.slice(at, at + pieceLength)
    await setImmediate()
  }
}

/** The results of each bucket of a page, or of a list of pages. */
function* jsonRows(content: string): Generator<Row> {
  const pages = [parsedExactly(content)].flat()
  const buckets = pages.flatMap((page) => itemsOf(membersOf(page)['data']))
  for (const [index, bucket] of buckets.entries()) {
    const { results, ...own } = membersOf(bucket)
    const place = `data[${index}]`
    if (itemsOf(results).length === 0)
      yield { place, cells: Object.fromEntries(flat(own)), isEmpty: true }
    for (const [at, result] of itemsOf(results).entries()) {
      const cells = Object.fromEntries([...flat(own), ...flat(membersOf(result))])
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
  const text = `${place}, column ${column}: ${reason}`
  return new GatewayError('invalid_value', text, { param: 'content' })
}

function shown(text = ''): string {
  return JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text)
}
