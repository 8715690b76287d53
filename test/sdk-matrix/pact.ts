import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { makeFolder } from '../support/folder.ts'
import type { TestGateway } from '../support/gateway.ts'

type Pact = {
  Verifier: new (options: object) => { verifyProvider(): Promise<unknown> }
}
type Expected = [state: string, status: number, code?: string]

const request = { model: 'gpt-5.4-mini', messages: [{ role: 'user', content: 'Say hello.' }] }
const expected: Expected[] = [
  ['a valid key', 200],
  ['an expired key', 401, 'expired_api_key'],
  ['a revoked key', 401, 'invalid_api_key'],
  ['a key with a full rate limit', 429, 'rate_limit_exceeded'],
  ['a key that may not use the model', 403, 'model_not_allowed'],
  ['a key with a spent budget', 402, 'insufficient_quota'],
  ['a vendor that answers 429 twice', 429, 'rate_limit_exceeded'],
  ['a vendor that is down', 502, 'provider_error'],
  ['a vendor that refuses the content', 400, 'content_policy_violation'],
]

/** What Pact's verifier complains about a consumer's contract of provider states, and about a wrong one if it passes. */
export async function pactComplaints(gateway: TestGateway, tools: string): Promise<string> {
  // The package is one of the tools.
  const { Verifier } = createRequire(join(tools, 'index.js'))('@pact-foundation/pact') as Pact
  const folder = makeFolder()
  const verify = (interactions: Expected[]) => {
    const file = join(folder.path, `${interactions.length}.json`)
    writeFileSync(file, JSON.stringify(pactOf(interactions)))
    const stateHandlers = Object.fromEntries(
      interactions.map(([state]) => [state, () => setUp(gateway, state)]),
    )
    const options = { provider: 'gateway', providerBaseUrl: gateway.url, pactUrls: [file] }
    return new Verifier({ ...options, stateHandlers, logLevel: 'error' }).verifyProvider()
  }
  try {
    await verify(expected)
    const wrong: Expected = ['a key with a spent budget', 429, 'rate_limit_exceeded']
    const isRefused = await verify([wrong]).then(
      () => false,
      () => true,
    )
    return isRefused ? '' : 'A wrong expectation passes.'
  } finally {
    folder.remove()
  }
}

async function setUp(gateway: TestGateway, state: string): Promise<object> {
  const answer = await gateway.post('/v1/sandbox/states', { action: 'setup', state })
  return (await answer.json()) as object
}

/** The contract of a consumer, as Pact writes it (specification 3). */
function pactOf(interactions: Expected[]): object {
  return {
    consumer: { name: 'shop' },
    provider: { name: 'gateway' },
    interactions: interactions.map(([state, status, code]) => ({
      description: `a chat with ${state}`,
      providerStates: [{ name: state }],
      request: {
        method: 'POST',
        path: '/v1/chat/completions',
        headers: { 'Content-Type': 'application/json', Authorization: 'Bearer mag_test_example' },
        body: request,
        generators: {
          header: {
            Authorization: {
              type: 'ProviderState',
              expression: 'Bearer ${api_key}',
              dataType: 'STRING',
            },
          },
        },
      },
      response: {
        status,
        headers: { 'Content-Type': 'application/json' },
        body: code === undefined ? { object: 'chat.completion' } : { error: { code } },
      },
    })),
    metadata: { pactSpecification: { version: '3.0.0' } },
  }
}
