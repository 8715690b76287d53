import type { components } from '../../../generated/types.ts'
import { withName } from '../../core/error.ts'
import type { Operation } from '../../http/operation.ts'
import { countHeaders } from '../../http/receipt-headers.ts'
import { readCall, type ReadOptions } from './read-call.ts'

/** POST /v1/responses/input_tokens */
export function countResponseTokens(options: ReadOptions): Operation<'countResponseTokens'> {
  return async (call) => {
    const read = await readCall(call, options)
    try {
      const count = await options.gateway.countInput(read, call)
      const json: components['schemas']['ResponseTokensCount'] = {
        object: 'response.input_tokens',
        input_tokens: count.tokens,
      }
      return { status: 200, headers: countHeaders(count), json }
    } catch (thrown) {
      throw withName(thrown, read.nameOf)
    }
  }
}
