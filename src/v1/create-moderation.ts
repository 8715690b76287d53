import type { components } from '../../generated/types.ts'
import type { Gateway } from '../core/gateway.ts'
import { contextOf, type Operation } from '../http/operation.ts'
import { restoreBase64 } from '../http/read-body.ts'
import { receiptHeaders } from '../http/receipt-headers.ts'

/** The model of OpenAI's API for a request that names none. */
const standardModel = 'omni-moderation-latest'

/** POST /v1/moderations */
export function createModeration({
  gateway,
}: {
  gateway: Pick<Gateway, 'moderate'>
}): Operation<'createModeration'> {
  return async (call) => {
    const { model = standardModel, input } = restoreBase64(call.body, call.texts, call.hold)
    const { result, receipt } = await gateway.moderate(
      { model, input },
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
