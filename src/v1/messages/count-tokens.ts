import type { components } from '../../../generated/types.ts'
import { estimateInput } from '../../core/chat/estimate.ts'
import type { ThoughtSeal } from '../../core/chat/sealed-thoughts.ts'
import type { Gateway } from '../../core/gateway.ts'
import type { RouteTable } from '../../core/route.ts'
import type { Operation } from '../../http/operation.ts'
import { restoreBase64 } from '../../http/read-body.ts'
import { readRequest } from './request.ts'

type Options = {
  gateway: Pick<Gateway, 'countRequest'>
  routes: Pick<RouteTable, 'routes'>
  sealOf: (accountId: string) => ThoughtSeal
}

/** POST /v1/messages/count_tokens */
export function countMessageTokens({
  gateway,
  routes,
  sealOf,
}: Options): Operation<'countMessageTokens'> {
  return async (call) => {
    const { body, texts, hold, caller, requestId } = call
    await gateway.countRequest(caller)
    const asked = restoreBase64(body, texts, hold)
    const { routes: able } = await routes.routes([asked.model], caller)
    const { model } = able[0]!
    const { request } = readRequest({ ...asked, max_tokens: 1 }, model, sealOf(caller.accountId))
    const json: components['schemas']['MessageTokensCount'] = {
      input_tokens: estimateInput(request),
    }
    return { status: 200, headers: { 'request-id': requestId }, json }
  }
}
