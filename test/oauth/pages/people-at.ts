import { expect } from 'chai'
import { startGateway, type TestGateway } from '../../support/gateway.ts'
import { createVisitor, onwardOf, register, type Visitor } from './visitor.ts'

export const ada = {
  email: 'ada@example.com',
  name: 'Ada Lovelace',
  password: 'a sentence of hers',
}

/** Raises the limit of registrations, because all clients of a test register from one address. */
export const manyClients = { file: { limits: { oauth_registrations_per_hour_max: 1000 } } }

export type People = ReturnType<typeof peopleAt>

/** A gateway on which Ada has an account, with the actions of people on its pages. */
export async function startWithAda(): Promise<{ gateway: TestGateway; people: People }> {
  const gateway = await startGateway(manyClients)
  const people = peopleAt(gateway)
  await people.post('/api/people', ada)
  return { gateway, people }
}

/** Actions of people on the pages of a gateway under test. */
export function peopleAt(gateway: TestGateway) {
  /** Posts JSON as a page of the gateway. */
  const post = (path: string, body: object) =>
    gateway.post(path, body, { key: null, headers: { 'sec-fetch-site': 'same-origin' } })
  return {
    post,
    /** A visitor who has opened the first page for a client. */
    arrive: async (client: { name?: string; redirectUri?: string } = {}) => {
      const asking = await register(gateway, client)
      const visitor = createVisitor(gateway)
      const shown = await visitor.open(asking.path)
      expect(shown.status, shown.html).to.equal(200)
      return { visitor, asking }
    },
    signIn: (visitor: Visitor, { email, password } = ada) =>
      visitor.press('sign_in', { email, password }),
    /** Continues after the last page; returns the redirect URL, which contains the parameters. */
    goOn: async (visitor: Visitor) => {
      const response = await visitor.ask(onwardOf(visitor.shown()))
      expect(response.status).to.equal(303)
      return new URL(response.headers.get('location')!)
    },
    /** All connections of a client. */
    connectionsOf: (clientId: string) =>
      gateway.db
        .selectFrom('api_keys')
        .selectAll()
        .where('kind', '=', 'connection')
        .where('client_id', '=', clientId)
        .execute(),
  }
}
