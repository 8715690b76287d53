import { schemaChecks } from '../../generated/checks.js'
import type { CallContext } from '../core/caller.ts'
import { toGatewayError } from '../core/error.ts'
import { claimed, failClaim, type ClaimKey, type KeptAnswer } from '../core/recall/idempotency.ts'
import { noTexts } from '../core/image/image.ts'
import { fingerprintOf } from '../http/idempotent.ts'
import { failureText, printFailure, type PrintedResult } from './content.ts'
import { JsonRpcError, rpcCodes } from './json-rpc.ts'
import type { Params } from './messages.ts'

/** A call of a tool that its client may send again. */
type KeyedCall = { key: string; toolName: string; input: object; context: CallContext }

/** The idempotency key in a call's `_meta`, if there is one. Throws a JsonRpcError. */
export function keyIn({ _meta: meta }: Params): string | undefined {
  // `readMessages` has checked `_meta` of every request.
  const { idempotencyKey: key } = (meta ?? {}) as { idempotencyKey?: unknown }
  if (key === undefined) return undefined
  if (schemaChecks.IdempotencyKey(key)) return key
  const text = "'_meta.idempotencyKey' must be 1 to 255 visible ASCII characters, as one string."
  throw new JsonRpcError(rpcCodes.invalidParams, text)
}

/**
 * Does the work of calls with the same key once, and answers the others with what it answered
 * (docs/tool-protocol.md#idempotency). Throws a GatewayError.
 */
export async function callOnce(
  { key, toolName, input: request, context }: KeyedCall,
  claimKey: ClaimKey,
  work: (context: CallContext) => Promise<PrintedResult>,
): Promise<PrintedResult> {
  const { caller, requestId, hold, strict, fallback, allowRepeat } = context
  const operation = `tools/call ${toolName}`
  const fingerprint = await fingerprintOf({ request, texts: noTexts, strict, fallback })
  const asked = { caller, key, operation, fingerprint, requestId, hold, allowRepeat }
  const { claim, kept } = await claimKey(asked)
  if (claim === undefined) return replayed(kept)
  try {
    const result = await work({ ...context, ...claimed(claim) })
    await claim.keep(keptOf(result))
    return { ...result, meta: { requestId } }
  } catch (thrown) {
    const error = toGatewayError(thrown)
    await failClaim(claim, error, () => keptOf(printFailure(failureText(error))))
    throw thrown
  }
}

function keptOf({ printed }: PrintedResult): KeptAnswer {
  return { status: null, headers: {}, body: printed }
}

/** The result as it was; it says so, and which call made it. */
function replayed({ body, requestId }: KeptAnswer & { requestId: string }): PrintedResult {
  const printed = body.map((piece) => Buffer.from(piece))
  return { printed, meta: { idempotentReplayed: true, requestId } }
}
