import type { Asked } from './scenario.ts'

/** An error answer in OpenAI's format. */
export type Refusal = { status: number; body: object; headers?: Record<string, string> }
type Wording = { code?: string; param?: string; retryAfterSeconds?: number }

/** The error answer that a prompt's scenarios request; undefined for none. */
export function askedRefusal(asked: Asked, routeIndex: number): Refusal | undefined {
  if (asked.has('content-policy')) {
    const code = 'content_policy_violation'
    return refusal(400, 'The sandbox refuses this prompt as unsafe.', { code })
  }
  if (asked.has('context-length')) return tooLong('The sandbox finds this conversation too long.')
  if (asked.has('insufficient-quota')) {
    return refusal(429, 'The sandbox has no money left.', { code: 'insufficient_quota' })
  }
  if (asked.has('first-route-fails') && routeIndex === 0) {
    return refusal(503, 'The first route of the sandbox fails.', { code: 'overloaded' })
  }
  const retryAfterSeconds = asked.number('rate-limit')
  if (retryAfterSeconds !== undefined) {
    const code = 'rate_limit_exceeded'
    return refusal(429, 'The sandbox limits the rate of requests.', { code, retryAfterSeconds })
  }
  const status = asked.number('status')
  if (status === undefined) return undefined
  return refusal(status, `The sandbox was asked for the status ${status}.`)
}

/** The error answer for an invalid parameter, or for a parameter with an invalid scenario. */
export function invalid(complaint: string, param: string): Refusal {
  return refusal(400, complaint, { code: 'invalid_value', param })
}

/** The error answer for a context that exceeds the model's window. */
export function tooLong(message: string): Refusal {
  return refusal(400, message, { code: 'context_length_exceeded', param: 'messages' })
}

/** The error answer for an input picture that cannot be decoded. */
export function unreadableSource(): Refusal {
  return refusal(400, 'The sandbox cannot read one of the pictures to edit.', {
    code: 'invalid_image',
  })
}

function refusal(status: number, message: string, wording: Wording = {}): Refusal {
  const { code = null, param = null, retryAfterSeconds = status === 429 ? 1 : undefined } = wording
  const body = { error: { message, type: 'sandbox_error', param, code } }
  if (retryAfterSeconds === undefined) return { status, body }
  return { status, body, headers: { 'retry-after': String(retryAfterSeconds) } }
}
