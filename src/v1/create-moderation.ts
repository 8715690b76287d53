import type { components } from '../../generated/types.ts'
import { restoreBase64 } from '../core/chat/read-chat.ts'
import type { Gateway } from '../core/gateway.ts'
import { contextOf, type Operation } from '../http/operation.ts'
import { receiptHeaders } from '../http/receipt-headers.ts'

/** The model of OpenAI's API for a request that names none. */
const standardModel = 'omni-moderation-latest'

/** POST /v1/moderations */
export function createModeration({
  gateway,
}: {
  gateway: Pick<Gateway, 'find' | 'moderate'>
}): Operation<'createModeration'> {
  return async (call) => {
    const { model = standardModel, input } = restoreBase64(call.body, call.texts, call.memory)
    const { result, receipt } = await gateway.moderate(
      { request: { model, input }, models: [gateway.find(model, call.caller)] },
      contextOf(call, 'moderations'),
    )
    const json: components['schemas']['ModerationList'] = {
      id: `modr-${call.requestId.slice(call.requestId.indexOf('_') + 1)}`,
      model: receipt.model.row.id,
      results: [...result.results],
      ...(receipt.warnings.length > 0 ? { warnings: [...receipt.warnings] } : {}),
    }
    return { status: 200, headers: receiptHeaders(receipt), json }
  }
}
