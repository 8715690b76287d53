import { createVisitor, onwardOf } from '../oauth/pages/visitor.ts'
import type { TestGateway } from './gateway.ts'

/**
 * Acts as a person in a browser who signs in with an API key and allows a client. Returns the redirect URL that
 * the client receives.
 */
export async function approveClient(
  gateway: Pick<TestGateway, 'url' | 'testKey'>,
  address: URL | string,
): Promise<URL> {
  const visitor = createVisitor(gateway)
  const { pathname, search } = new URL(address, gateway.url)
  await visitor.open(pathname + search)
  await visitor.press('use_key', { api_key: gateway.testKey })
  await visitor.press('allow')
  const answer = await visitor.ask(onwardOf(visitor.shown()))
  const location = answer.headers.get('location')
  if (location === null) throw new Error(`Nothing follows: ${await answer.text()}`)
  return new URL(location)
}
