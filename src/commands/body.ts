import type { Check } from '../../generated/checks.js'
import { GatewayError } from '../core/error.ts'
import { prune } from '../core/prune.ts'
import { assertValid } from '../http/check-error.ts'
import { text, UsageError } from './command.ts'

export const allowanceOptions = {
  'budget-usd': text,
  'budget-period': text,
  'requests-per-minute': text,
  'tokens-per-minute': text,
  'images-per-minute': text,
  concurrency: text,
}

type AllowanceValues = { [Name in keyof typeof allowanceOptions]?: string | undefined }

/** Option names by member of the request body. */
const optionOf: Readonly<Record<string, string>> = {
  'budget.usd': 'budget-usd',
  'budget.period': 'budget-period',
  'limits.requests_per_minute': 'requests-per-minute',
  'limits.tokens_per_minute': 'tokens-per-minute',
  'limits.images_per_minute': 'images-per-minute',
  'limits.concurrency': 'concurrency',
  allowed_addresses: 'allow-ip',
  tag_budgets: 'tag-budget',
  expires_at: 'expires-in-days',
  overlap_minutes: 'overlap-minutes',
}

/** Converts options to the limits and budget of a request body. */
export function allowanceIn(values: AllowanceValues): object {
  const limits = {
    requests_per_minute: countIn(values['requests-per-minute']),
    tokens_per_minute: countIn(values['tokens-per-minute']),
    images_per_minute: countIn(values['images-per-minute']),
    concurrency: countIn(values.concurrency),
  }
  const budget = { usd: values['budget-usd'], period: values['budget-period'] }
  return {
    limits: prune(limits),
    ...(Object.keys(prune(budget)).length === 0 ? {} : { budget: prune(budget) }),
  }
}

/** Converts an option to a number; returns other texts unchanged, so that the contract's check refuses them. */
export function countIn(option: string | undefined): number | string | undefined {
  return option !== undefined && /^\d{1,15}$/.test(option) ? Number(option) : option
}

/** Splits a list such as `a,b`. Throws a UsageError for an empty item. */
export function listIn(name: string, option: string | undefined): string[] | undefined {
  const words = option?.split(',').map((word) => word.trim())
  if (words?.includes(''))
    throw new UsageError(`--${name} has an empty item. For example: --${name} a,b`)
  return words
}

/** Returns the body if the contract's check accepts it; else throws a UsageError that names the option. */
export function checkedBody<T>(check: Check<T>, body: unknown): T {
  try {
    assertValid(check, body)
    return body
  } catch (error) {
    throw namingOptions(error)
  }
}

/** Converts a GatewayError about a member to a UsageError about its option; returns others unchanged. */
export function namingOptions(error: unknown, options = optionOf): unknown {
  if (!(error instanceof GatewayError) || error.param === null) return error
  const member = error.param.replace(/\[\d+\].*$/, '')
  const option = `--${options[member] ?? member}`
  const message = error.message
    .replace(`'${error.param}'`, option)
    .replaceAll(/'(\w+)'/g, (quoted, name: string) =>
      Object.hasOwn(options, name) ? `--${options[name]}` : quoted,
    )
  return new UsageError(message.startsWith(option) ? message : `${option}: ${message}`)
}

/** Validates `--name` and replaces control characters, since lists print it on terminals. */
export function nameIn(text = ''): string {
  const name = text.replaceAll(/[\p{C}\p{Z}]+/gu, ' ').trim()
  if (name === '') throw new UsageError('--name is missing. For example: --name mine')
  return name
}
