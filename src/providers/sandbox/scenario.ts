/** How the pretended vendor is asked to behave; the contract's description lists the words. */
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

/** Reads the scenario words in a prompt; without any the sandbox behaves well. */
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

export type Refusal = { status: number; body: object; headers?: Record<string, string> }

/** The refusal that a scenario asks for, as an OpenAI-shaped vendor words it. */
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

/** As a vendor refuses a picture whose pixels it cannot read. */
export function unreadableSource(): Refusal {
  return refusal(400, 'The sandbox cannot read a picture to edit.', 'invalid_image')
}

function refusal(status: number, message: string, code: string | null): Refusal {
  const body = { error: { message, type: 'sandbox_error', param: null, code } }
  return { status, body, ...(status === 429 ? { headers: { 'retry-after': '1' } } : {}) }
}
