import type { components } from '../../generated/types.ts'
import type { Operation } from '../http/operation.ts'

/** All providers, for those who run the gateway. */
export type DescribeProviders = () => Promise<components['schemas']['ProviderList']>

/** GET /api/providers */
export function listProviders(describe: DescribeProviders): Operation<'listProviders'> {
  return async () => ({ status: 200, json: await describe() })
}
