import { bodyChecks } from '../../generated/checks.js'
import type { components } from '../../generated/types.ts'
import { commandLine } from '../accounts/audit.ts'
import { prune } from '../core/prune.ts'
import {
  allowanceIn,
  allowanceOptions,
  checkedBody,
  listIn,
  namingOptions,
  nameIn,
  countIn,
} from './body.ts'
import { json, jsonText, parsed, text, UsageError, type Command } from './command.ts'
import { gatewayAddress, withStore } from './with-store.ts'
import { dateText, everyPage, shownName, tableText } from './lists.ts'
import { rotateOAuthKeys } from '../accounts/oauth/oauth-keys.ts'

type ApiKey = components['schemas']['ApiKey']
const options = {
  account: text,
  kind: text,
  mode: text,
  name: text,
  cassette: text,
  scopes: text,
  models: text,
  ...allowanceOptions,
  'allow-ip': { type: 'string', multiple: true },
  'tag-budget': { type: 'string', multiple: true },
  'expires-in-days': text,
  ...json,
} as const

/** keys create: prints only the secret, once; for a client also its id. */
export const createKey: Command = async (words, context) => {
  const { values } = parsed(words, options)
  const { mode, 'expires-in-days': days } = values
  if (mode !== 'test' && mode !== 'live')
    throw new UsageError('--mode must be test or live. For example: --mode test')
  const body = {
    kind: values.kind,
    name: nameIn(values.name),
    mode,
    cassette: values.cassette,
    scopes: listIn('scopes', values.scopes),
    models: listIn('models', values.models),
    allowed_addresses: values['allow-ip']?.flatMap((one) => listIn('allow-ip', one) ?? []),
    expires_at: days === undefined ? undefined : endIn(days),
    ...allowanceIn(values),
    tag_budgets: values['tag-budget']?.map(tagBudgetIn),
  }
  const newKey = checkedBody(bodyChecks.createKey, prune(body))
  return withStore('create', context, async ({ accounts, keys, ...opened }) => {
    const { id: first } = await accounts.first()
    const { id } = await accounts.retrieve(commandLine, values.account ?? first)
    const made = await keys.create(commandLine, id, newKey).catch((error: unknown) => {
      throw namingOptions(error)
    })
    if (values.json === true) return { text: jsonText(made) }
    if (context.isTerminal === true) context.notice(nextSteps(made, gatewayAddress(opened)))
    return { text: secretText(made) }
  })
}

/** What a person does with a new key; a script gets the key alone. */
function nextSteps({ id, kind }: Pick<ApiKey, 'id' | 'kind'>, address: string): string {
  const use =
    kind === 'client'
      ? `exchange them for tokens at ${address}/oauth/token`
      : `clients send it to ${address}/v1, as OPENAI_API_KEY for example`
  return `Created ${id}. Its secret is shown only once: ${use}. \`keys revoke ${id}\` ends it.`
}

/** Formats a key alone, or client id and secret as `.env` lines. */
function secretText({ key, client_id: id }: components['schemas']['CreatedApiKey']): string {
  return id === undefined ? `${key}\n` : `CLIENT_ID=${id}\nCLIENT_SECRET=${key}\n`
}

function tagBudgetIn(option: string) {
  const [, tag, usd, period] = /^(.*):([^:/]*)\/([^/]*)$/.exec(option) ?? []
  if (tag !== undefined) return { tag, budget: { usd, period } }
  const text = `--tag-budget must be a tag, dollars and a period, not '${option.slice(0, 100)}'.`
  throw new UsageError(`${text} For example: --tag-budget nightly:5/day`)
}

/** Maximum of `--expires-in-days`: a hundred years. */
const daysMax = 36_500

function endIn(option: string): string {
  const days = /^\d{1,6}(\.\d{1,30})?$/.test(option) ? Number(option) : 0
  if (days > 0 && days <= daysMax) return new Date(Date.now() + days * 86_400_000).toISOString()
  throw new UsageError(
    `--expires-in-days must be a number above 0 and at most ${daysMax}, not '${option.slice(0, 100)}'.`,
  )
}

/** keys list: the keys of all accounts, or of one. */
export const listKeys: Command = async (words, context) => {
  const { values } = parsed(words, { account: text, ...json })
  const { account } = values
  return withStore('none', context, async ({ accounts, keys }) => {
    if (account !== undefined) await accounts.retrieve(commandLine, account)
    const filter = prune({ accountId: account })
    const rows = await everyPage((page) => keys.list(filter, page))
    if (values.json === true) return { text: jsonText(rows) }
    if (rows.length === 0) return { text: 'There are no keys. Create one with `keys create`.\n' }
    const cells = rows.map(keyCells)
    return { text: tableText(Object.keys(cells[0]!), cells.map(Object.values<string>)) }
  })
}

function keyCells(row: ApiKey): Record<string, string> {
  const time = (at: string | null) => (at === null ? 'never' : dateText(at))
  const limits = Object.entries(row.limits).flatMap(([name, most]) =>
    most === null ? [] : `${name.replace('_per_minute', '/min')} ${most}`,
  )
  const { budget, revoked_at: revokedAt } = row
  return {
    Id: row.id,
    Key: row.hint,
    Account: row.account_id,
    Kind: row.kind,
    Mode: row.mode,
    Created: dateText(row.created_at),
    State: revokedAt === null ? row.state : `${row.state} ${dateText(revokedAt)}`,
    Expires: time(row.expires_at),
    'Last used': time(row.last_used_at),
    Models: row.models?.join(' ') ?? 'all',
    Limits: limits.join(', ') || 'none',
    Budget: [
      budget === null ? 'none' : budgetText(budget),
      ...row.tag_budgets.map((one) => `${one.tag}: ${budgetText(one.budget)}`),
    ].join('; '),
    Name: shownName(row.name),
  }
}

function budgetText({ spent, amount, period }: components['schemas']['BudgetState']): string {
  return `${spent.usd} of ${amount.usd} USD, ${period}`
}

/** keys rotate: prints only the new secret, once. */
export const rotateKey: Command = async (words, context) => {
  const { values, positionals } = parsed(words, { 'overlap-minutes': text, ...json }, 1)
  const [id] = positionals
  if (id === undefined)
    throw new UsageError('The id of the key is missing. `keys list` shows the ids.')
  const body = prune({ overlap_minutes: countIn(values['overlap-minutes']) })
  const { overlap_minutes: minutes } = checkedBody(bodyChecks.rotateKey, body)
  return withStore('none', context, async ({ keys }) => {
    const made = await keys.rotate(commandLine, { id }, minutes)
    return { text: values.json === true ? jsonText(made) : `${made.key}\n` }
  })
}

export const revokeKey: Command = async (words, context) => {
  const { values, positionals } = parsed(words, json, 1)
  const [id] = positionals
  if (id === undefined)
    throw new UsageError('The id of the key is missing. `keys list` shows the ids.')
  return withStore('none', context, async ({ keys }) => {
    const { state } = await keys.retrieve({ id })
    const key = await keys.revoke(commandLine, { id })
    if (values.json === true) return { text: jsonText(key) }
    return { text: state === 'revoked' ? `${id} was already revoked.\n` : `Revoked ${id}.\n` }
  })
}

export const rotateOauthKeys: Command = async (words, context) => {
  const { values } = parsed(words, json)
  return withStore('create', context, async ({ store, audit, accounts, clock }) => {
    const { id: accountId } = await accounts.first()
    await rotateOAuthKeys({ store, audit, clock, by: commandLine, accountId })
    const text =
      'Created new OAuth keys. Running gateways sign with them in five minutes, and accept older signatures for a day.\n'
    return { text: values.json === true ? jsonText({ rotated: true }) : text }
  })
}
