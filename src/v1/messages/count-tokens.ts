import type { components } from '../../../generated/types.ts'
import { GatewayError } from '../../core/error.ts'
import type { Operation } from '../../http/operation.ts'
import { countHeaders } from '../../http/receipt-headers.ts'
import { readCall, type MessageOptions } from './create-message.ts'

/** POST /v1/messages/count_tokens */
export function countMessageTokens(options: MessageOptions): Operation<'countMessageTokens'> {
  return async (call) => {
    // A count needs no maximum, but a message does.
    const body = { ...call.body, max_tokens: 1 }
    const read = readCall({ ...call, body }, options)
    try {
      const count = await options.gateway.countInput(read, call)
      const json: components['schemas']['MessageTokensCount'] = { input_tokens: count.tokens }
      const headers = { 'request-id': call.requestId, ...countHeaders(count) }
      return { status: 200, headers, json }
    } catch (thrown) {
      throw thrown instanceof GatewayError ? read.explain(thrown) : thrown
    }
  }
}
