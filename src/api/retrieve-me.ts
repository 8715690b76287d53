import type { components } from '../../generated/types.ts'
import type { Operation } from '../http/operation.ts'

type Options = { retrieve: (personId: string) => Promise<components['schemas']['Person']> }

/** GET /api/me */
export function retrieveMe({ retrieve }: Options): Operation<'retrieveMe'> {
  return async ({ caller }) => ({ status: 200, json: await retrieve(caller.person.id) })
}
