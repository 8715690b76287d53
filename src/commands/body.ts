import type { Check } from '../../generated/checks.js'
import { GatewayError } from '../core/error.ts'
import { assertValid } from '../http/check-error.ts'
import { text, UsageError } from './command.ts'

/** What may be used and spent, as options. */
export const allowanceOptions = {
  'budget-usd': text,
  'budget-period': text,
  'requests-per-minute': text,
  'tokens-per-minute': text,
  'images-per-minute': text,
  concurrency: text,
}

type AllowanceValues = { [Name in keyof typeof allowanceOptions]?: string | undefined }

/** The options that are parts of a body, by what the contract calls them. */
const optionOf: Readonly<Record<string, string>> = {
  'budget.usd': 'budget-usd',
  'budget.period': 'budget-period',
  'limits.requests_per_minute': 'requests-per-minute',
  'limits.tokens_per_minute': 'tokens-per-minute',
  'limits.images_per_minute': 'images-per-minute',
  'limits.concurrency': 'concurrency',
  allowed_addresses: 'allow-ip',
  expires_at: 'expires-in-days',
  overlap_minutes: 'overlap-minutes',
}

/** Limits and budget of a body, as options say them. */
export function allowanceIn(values: AllowanceValues): object {
  const limits = {
    requests_per_minute: countIn(values['requests-per-minute']),
    tokens_per_minute: countIn(values['tokens-per-minute']),
    images_per_minute: countIn(values['images-per-minute']),
    concurrency: countIn(values.concurrency),
  }
  const budget = { usd: values['budget-usd'], period: values['budget-period'] }
  return {
    limits: given(limits),
    ...(Object.keys(given(budget)).length === 0 ? {} : { budget: given(budget) }),
  }
}

/** The members that are not undefined. */
export function given(members: object): object {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))
}

/** The number that an option says; anything else as it is, which the contract refuses. */
export function countIn(option: string | undefined): number | string | undefined {
  return option !== undefined && /^\d{1,15}$/.test(option) ? Number(option) : option
}

/** The words of a list such as `a,b`. Throws a UsageError for an empty one. */
export function listIn(name: string, option: string | undefined): string[] | undefined {
  const words = option?.split(',').map((word) => word.trim())
  if (words?.includes('')) throw new UsageError(`--${name}: a name is empty. Write a,b.`)
  return words
}

/** The body, if the contract allows it; else throws a UsageError that names the option. */
export function checkedBody<T>(check: Check<T>, body: unknown): T {
  try {
    assertValid(check, body)
    return body
  } catch (error) {
    throw namingOptions(error)
  }
}

/** The same error with the name of an option, if it names a member of a body. */
export function namingOptions(error: unknown): unknown {
  if (!(error instanceof GatewayError) || error.param === null) return error
  const member = error.param.replace(/\[\d+\]$/, '')
  const option = `--${optionOf[member] ?? member}`
  const message = error.message.replace(`'${error.param}'`, option)
  return new UsageError(message.startsWith(option) ? message : `${option}: ${message}`)
}

/** A name in one line: lists print it, and a terminal does what some characters say. */
export function nameIn(given = ''): string {
  const name = given.replaceAll(/[\p{C}\p{Z}]+/gu, ' ').trim()
  if (name === '') throw new UsageError('Say --name and a name.')
  return name
}
