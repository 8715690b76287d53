import type { components } from '../../generated/types.ts'
import type { PersonCaller } from '../core/caller.ts'
import type { Operation } from '../http/operation.ts'

type Schemas = components['schemas']
type Options = {
  current: (caller: PersonCaller) => Promise<Schemas['Session']>
  retrieve: (personId: string) => Promise<Schemas['Person']>
}

/** GET /api/sessions/current */
export function retrieveCurrentSession({
  current,
  retrieve,
}: Options): Operation<'retrieveCurrentSession'> {
  return async ({ caller }) => {
    const { id, csrfToken } = caller.person
    const [session, person] = await Promise.all([current(caller), retrieve(id)])
    const json: Schemas['SignedIn'] = {
      object: 'signed_in',
      csrf_token: csrfToken,
      session,
      person,
    }
    return { status: 200, json }
  }
}
