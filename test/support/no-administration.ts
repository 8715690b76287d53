import { expect } from 'chai'
import { operations } from './contract.ts'
import { expectError } from './expect-error.ts'
import type { TestGateway } from './gateway.ts'

const scoped = operations.filter(({ security = [] }) =>
  security.some((one) => (one['bearer'] ?? []).some((scope) => scope !== 'inference')),
)

/** Checks that a token is refused for operations that need a session or a scope other than `inference`. */
export async function expectNoAdministration(
  gateway: Pick<TestGateway, 'fetch'>,
  key: string,
): Promise<void> {
  expect(scoped.length).to.be.above(15)
  for (const { path, method } of scoped) {
    const url = path.replaceAll(/\{\w+\}/g, 'key_none')
    const answer = await gateway.fetch(url, { key, method: method.toUpperCase() })
    const { message } = await expectError(answer, { status: 403, code: 'insufficient_scope' })
    expect(message).to.match(/which the access token does not have\. Use an API key that has it\.$/)
    expect(answer.headers.get('www-authenticate')).to.equal('Bearer error="insufficient_scope"')
  }
  for (const url of ['/api/me', '/api/me/connections', '/api/sessions']) {
    await expectError(await gateway.fetch(url, { key }), { status: 401, code: 'invalid_session' })
  }
}
