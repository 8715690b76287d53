import type { components } from '../../generated/types.ts'
import type { UsageLimits } from '../core/caller.ts'

type Schemas = components['schemas']

/** Limits in the contract's form. */
export function limitsText(limits: UsageLimits): Schemas['Limits'] {
  return {
    requests_per_minute: limits.requestsPerMinute,
    tokens_per_minute: limits.tokensPerMinute,
    images_per_minute: limits.imagesPerMinute,
    concurrency: limits.concurrency,
  }
}
