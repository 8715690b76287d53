import { createVisitor, onwardOf } from '../oauth/pages/visitor.ts'
import type { TestGateway } from './gateway.ts'

/**
 * What a person does in a browser for a client: signs in with an API key and says yes. Gives the
 * address that the client is told.
 */
export async function sayYes(
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
