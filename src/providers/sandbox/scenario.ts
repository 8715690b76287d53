/** How the simulated vendor should behave; openapi.yaml describes the `sandbox:` words. */
export type Scenario = {
  status?: number
  delayMs: number
  cut: boolean
  malformed: boolean
  empty: boolean
  reset: boolean
  contentPolicy: boolean
  insufficientQuota: boolean
  noUsage: boolean
  firstRouteFails: boolean
}

const delayMsMax = 60_000

/** Reads the `sandbox:` words in a prompt; without any the sandbox answers normally. */
export function readScenario(prompt: string): Scenario {
  const words = new Map(
    [...prompt.matchAll(/\bsandbox:([a-z-]+)(?:=(\d{1,6}))?/g)].map((m) => [m[1], Number(m[2])]),
  )
  const status = words.get('status')
  return {
    ...(status !== undefined && status >= 400 && status <= 599 ? { status } : {}),
    delayMs: Math.min(words.get('delay') || 0, delayMsMax),
    cut: words.has('cut-stream'),
    malformed: words.has('malformed'),
    empty: words.has('empty'),
    reset: words.has('reset'),
    contentPolicy: words.has('content-policy'),
    insufficientQuota: words.has('insufficient-quota'),
    noUsage: words.has('no-usage'),
    firstRouteFails: words.has('first-route-fails'),
  }
}

type Refusal = { status: number; body: object; headers?: Record<string, string> }

/** The error answer that a scenario asks for, in OpenAI's format; undefined for none. */
export function refusalOf(scenario: Scenario, routeIndex: number): Refusal | undefined {
  if (scenario.contentPolicy) {
    return refusal(400, 'The sandbox refuses this prompt as unsafe.', 'content_policy_violation')
  }
  if (scenario.insufficientQuota) {
    return refusal(429, 'The sandbox has no money left.', 'insufficient_quota')
  }
  if (scenario.firstRouteFails && routeIndex === 0) {
    return refusal(503, 'The first route of the sandbox fails.', 'overloaded')
  }
  if (scenario.status === undefined) return undefined
  return refusal(scenario.status, `The sandbox was asked for the status ${scenario.status}.`, null)
}

/** The error answer for an input picture that cannot be decoded. */
export function unreadableSource(): Refusal {
  return refusal(400, 'The sandbox cannot read a picture to edit.', 'invalid_image')
}

function refusal(status: number, message: string, code: string | null): Refusal {
  const body = { error: { message, type: 'sandbox_error', param: null, code } }
  return { status, body, ...(status === 429 ? { headers: { 'retry-after': '1' } } : {}) }
}
