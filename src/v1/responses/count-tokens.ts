import type { components } from '../../../generated/types.ts'
import { estimateInput } from '../../core/chat/estimate.ts'
import type { Gateway } from '../../core/gateway.ts'
import type { RouteTable } from '../../core/route.ts'
import type { Operation } from '../../http/operation.ts'
import { readCall } from './read-call.ts'

type Options = Parameters<typeof readCall>[1] & {
  gateway: Pick<Gateway, 'countRequest'>
  routes: Pick<RouteTable, 'routes'>
}

/** POST /v1/responses/input_tokens */
export function countResponseTokens(options: Options): Operation<'countResponseTokens'> {
  return async (call) => {
    const { body, caller } = call
    await options.gateway.countRequest(caller)
    // Refuses models that the key may not call.
    await options.routes.routes([body.model, ...(body.models ?? [])], caller)
    const { request } = await readCall(call, options)
    const json: components['schemas']['ResponseTokensCount'] = {
      object: 'response.input_tokens',
      input_tokens: estimateInput(request),
    }
    return { status: 200, json }
  }
}
