import type { components } from '../../generated/types.ts'
import type { Caller } from '../core/caller.ts'
import type { Operation } from '../http/operation.ts'

/** The catalog as a caller may use it, or the model that is named. Rejects with a GatewayError. */
export type DescribeCatalog = (
  caller: Caller,
  model: string | undefined,
) => Promise<components['schemas']['CatalogList']>

/** GET /api/models */
export function listCatalog(describe: DescribeCatalog): Operation<'listCatalog'> {
  return async ({ caller, query }) => {
    return { status: 200, json: await describe(caller, query.model), mayBeCoded: true }
  }
}
