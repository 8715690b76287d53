import { queryChecks } from '../../generated/parameter-checks.js'
import type { components, operations } from '../../generated/types.ts'
import { createUsageReports, type ReportRequest } from '../accounts/usage/report.ts'
import { assertValid } from '../http/check-error.ts'
import type { Store } from '../storage/store.ts'
import { namingOptions } from './body.ts'
import { json, jsonText, parsed, text, UsageError, type Command } from './command.ts'
import { tableText } from './lists.ts'
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
/** Option names by query parameter. */
const optionOf: Readonly<Record<string, string>> = { group_by: 'by', from: 'since', to: 'until' }

/** usage: prints the usage report of an account, with all its groups. */
export const reportUsage: Command = async (words, context) => {
  const { values } = parsed(words, options)
  try {
    const query = queryIn(values)
    return await withStore('none', context, async ({ store }) => {
      const report = await wholeReport(store, await accountOf(store, values.account), query)
      return { text: values.json === true ? jsonText(report) : reportText(report) }
    })
  } catch (error) {
    throw namingOptions(error, optionOf)
  }
}

type Values = { [Name in Exclude<keyof typeof options, 'json'>]?: string | undefined }

/** Converts the options to a validated query of the API. */
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
  // The operation's check has validated the query and filled in defaults.
  return query as unknown as Query
}

const unitMs: Readonly<Record<string, number>> = { h: 3_600_000, d: 86_400_000 }

/** Converts `7d` or `24h` to a time, rounded down to the hour; returns a date or time unchanged. */
function sinceText(since: string, now: number): string {
  const [, count, unit = ''] = /^(\d{1,5})([hd])$/.exec(since) ?? []
  if (count === undefined) return since
  const at = now - Number(count) * unitMs[unit]!
  return new Date(Math.max(0, at - (at % unitMs['h']!))).toISOString()
}

/** The id of the named account, else of the operator's account. */
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
    id === undefined
      ? 'There is no account. Start the gateway once to create one.'
      : `There is no account '${id.slice(0, 100)}'. \`accounts list\` shows the ids.`,
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

function reportText({ mode, from, to, group_by: groupBy, data, total }: Report): string {
  if (total.calls === 0) {
    const others = mode === 'live' ? ' `usage --mode test` counts those with test keys.' : ''
    return `There were no ${mode} calls from ${from} to ${to}.${others}\n`
  }
  const headings = ['calls', 'failed', 'input tokens', 'output tokens', 'images', 'cost USD']
  const groups = groupBy.length === 0 ? [] : data
  const rows = [
    ...groups.map((group) => [...groupBy.map((name) => shown(name, group)), ...cells(group.sums)]),
    [...groupBy.map((_, index) => (index === 0 ? 'total' : '')), ...cells(total)],
  ]
  const unpriced = total.unpriced_calls
  const missing = unpriced === 0 ? '' : `The total omits ${unpriced} calls of unknown cost.\n`
  const table = tableText([...groupBy, ...headings], rows, groupBy.length)
  return `${mode} calls from ${from} to ${to}\n${table}${missing}`
}

function cells(sums: Report['total']): string[] {
  const { calls, failed_calls, input_tokens, output_tokens, images, cost } = sums
  return [...[calls, failed_calls, input_tokens, output_tokens, images].map(String), cost.usd]
}

/** Length of the prefix of an ISO time that names an hour, day or month. */
const timeLengths: Partial<Record<Dimension, number>> = { hour: 16, day: 10, month: 7 }

/** Formats a cell; replaces control characters, which a terminal would interpret. */
function shown(name: Dimension, group: Group): string {
  const { key_name: key, member_name: member } = group
  const value = { key, member }[name as string] ?? group[name] ?? '-'
  const length = timeLengths[name]
  if (length !== undefined) return value.slice(0, length).replace('T', ' ')
  return value.replaceAll(/[\p{C}\p{Z}]+/gu, ' ')
}
