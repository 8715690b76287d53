import type { components } from '../../generated/types.ts'
import type { Operation } from '../http/operation.ts'

type Options = {
  signUp: components['schemas']['SignUpState']
  isSetUp: () => Promise<boolean>
}

/** GET /api/entrance */
export function retrieveEntrance({ signUp, isSetUp }: Options): Operation<'retrieveEntrance'> {
  return async ({ caller }) => {
    const is_signed_in = caller !== undefined
    const json = { object: 'entrance', sign_up: signUp, is_set_up: await isSetUp(), is_signed_in }
    return { status: 200, json }
  }
}
