import type { components } from '../../../generated/types.ts'
import { GatewayError } from '../../core/error.ts'
import type { Gateway } from '../../core/gateway.ts'
import type { Operation } from '../../http/operation.ts'
import { countHeaders } from '../../http/receipt-headers.ts'
import { readCall, type ReadOptions } from './read-call.ts'

type Options = ReadOptions & { gateway: Pick<Gateway, 'countInput'> }

/** POST /v1/responses/input_tokens */
export function countResponseTokens(options: Options): Operation<'countResponseTokens'> {
  return async (call) => {
    const { request, asked, ...read } = await readCall(call, options)
    const native = read.native && { ...read.native, isTranslatable: true }
    try {
      const count = await options.gateway.countInput({ request, native }, call)
      const json: components['schemas']['ResponseTokensCount'] = {
        object: 'response.input_tokens',
        input_tokens: count.tokens,
      }
      return { status: 200, headers: countHeaders(count), json }
    } catch (thrown) {
      throw thrown instanceof GatewayError ? thrown.named(asked.nameOf) : thrown
    }
  }
}
