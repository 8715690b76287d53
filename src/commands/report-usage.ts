import { queryChecks } from '../../generated/parameter-checks.js'
import type { components, operations } from '../../generated/types.ts'
import { createUsageReports, type ReportRequest } from '../accounts/usage/report.ts'
import { GatewayError } from '../core/error.ts'
import { assertValid } from '../http/check-error.ts'
import type { Store } from '../storage/store.ts'
import { json, jsonText, parsed, text, UsageError, type Command } from './command.ts'
import { withStore } from './with-store.ts'

type Report = components['schemas']['UsageReport']
type Group = Report['data'][number]
type Dimension = components['schemas']['UsageDimension']
type Query = NonNullable<operations['reportUsage']['parameters']['query']>

const options = {
  by: text,
  since: text,
  until: text,
  account: text,
  member: text,
  mode: text,
  ...json,
}
/** The options by what the contract calls them. */
const optionOf: Readonly<Record<string, string>> = { group_by: 'by', from: 'since', to: 'until' }

/** usage: the report of an account, all groups of it. */
export const reportUsage: Command = async (words, context) => {
  const { values } = parsed(words, options)
  try {
    const query = queryIn(values)
    return await withStore('none', context, async ({ store }) => {
      const report = await wholeReport(store, await accountOf(store, values.account), query)
      return { text: values.json === true ? jsonText(report) : tableText(report) }
    })
  } catch (error) {
    throw namingOptions(error)
  }
}

type Values = { [Name in Exclude<keyof typeof options, 'json'>]?: string | undefined }

/** What the options ask for, as a query of the API that has passed its check. */
function queryIn({ by, since, until, member, mode }: Values): Query {
  const query = {
    mode,
    member,
    from: since === undefined ? undefined : sinceText(since, Date.now()),
    to: until,
    group_by: by?.split(','),
    limit: 100,
    order: 'asc',
  }
  assertValid(queryChecks.reportUsage, query)
  // The check is that of the operation, and fills in what is left out.
  return query as unknown as Query
}

const unitMs: Readonly<Record<string, number>> = { h: 3_600_000, d: 86_400_000 }

/** `7d` and `24h` end now, and begin with a whole hour; a date or a time is what it says. */
function sinceText(since: string, now: number): string {
  const [, count, unit = ''] = /^(\d{1,5})([hd])$/.exec(since) ?? []
  if (count === undefined) return since
  const at = now - Number(count) * unitMs[unit]!
  return new Date(Math.max(0, at - (at % unitMs['h']!))).toISOString()
}

/** The account that is named, else the first one. */
async function accountOf({ db }: Store, id: string | undefined): Promise<string> {
  const accounts = db
    .selectFrom('accounts')
    .select('id')
    .orderBy('is_operator', 'desc')
    .orderBy('created_at')
    .orderBy('id')
  const found = await (id === undefined ? accounts : accounts.where('id', '=', id))
    .limit(1)
    .executeTakeFirst()
  if (found !== undefined) return found.id
  throw new UsageError(
    id === undefined ? 'There is no account yet.' : `There is no account '${id.slice(0, 100)}'.`,
  )
}

async function wholeReport(store: Store, accountId: string, query: Query): Promise<Report> {
  const { report } = createUsageReports({ reader: store.reader, clock: Date.now })
  const { from, to, mode, member, order, order_by: orderBy, group_by: groupBy = [], limit } = query
  const filter = { member }
  const request: ReportRequest = { accountId, from, to, mode, order, orderBy, groupBy, filter }
  const whole = await report(request, limit)
  while (whole.next_cursor !== null) {
    const page = await report({ ...request, cursor: whole.next_cursor }, limit)
    whole.data.push(...page.data)
    whole.next_cursor = page.next_cursor
  }
  return { ...whole, has_more: false }
}

/** The same error in the words of the command line, if it names a parameter. */
function namingOptions(error: unknown): unknown {
  if (!(error instanceof GatewayError) || error.param === null) return error
  const member = error.param.replace(/\[\d+\]$/, '')
  const option = `--${optionOf[member] ?? member}`
  const message = error.message.replace(`'${error.param}'`, option).replace("'to'", '--until')
  return new UsageError(message)
}

function tableText({ mode, from, to, group_by: groupBy, data, total }: Report): string {
  const headings = ['calls', 'failed', 'input tokens', 'output tokens', 'images', 'cost USD']
  const groups = groupBy.length === 0 ? [] : data
  const lines = [
    [...groupBy, ...headings],
    ...groups.map((group) => [...groupBy.map((name) => shown(name, group)), ...cells(group.sums)]),
    [...groupBy.map((_, index) => (index === 0 ? 'total' : '')), ...cells(total)],
  ]
  const widths = lines[0]!.map((_, at) => Math.max(...lines.map((line) => line[at]!.length)))
  const rows = lines.map((line) =>
    line
      .map((cell, at) =>
        at < groupBy.length ? cell.padEnd(widths[at]!) : cell.padStart(widths[at]!),
      )
      .join('  ')
      .trimEnd(),
  )
  const unpriced = total.unpriced_calls
  const missing =
    unpriced === 0 ? [] : [`The cost of ${unpriced} calls is not known and is missing.`]
  return [`${mode} calls from ${from} to ${to}`, ...rows, ...missing, ''].join('\n')
}

function cells(sums: Report['total']): string[] {
  const { calls, failed_calls, input_tokens, output_tokens, images, cost } = sums
  return [...[calls, failed_calls, input_tokens, output_tokens, images].map(String), cost.usd]
}

/** How much of a time tells an hour, a day, a month. */
const timeLengths: Partial<Record<Dimension, number>> = { hour: 16, day: 10, month: 7 }

/** A name in one line: a terminal does what some characters say. */
function shown(name: Dimension, group: Group): string {
  const { key_name: key, member_name: member } = group
  const value = { key, member }[name as string] ?? group[name] ?? '-'
  const length = timeLengths[name]
  if (length !== undefined) return value.slice(0, length).replace('T', ' ')
  return value.replaceAll(/[\p{C}\p{Z}]+/gu, ' ')
}
