import type { components } from '../../generated/types.ts'
import type { Actor, PersonCaller } from '../core/caller.ts'
import { actorOf, type Operation } from '../http/operation.ts'

type Person = components['schemas']['Person']
type Options = {
  retrieve: (personId: string) => Promise<Person>
  rename: (caller: PersonCaller, name: string, actor: Actor) => Promise<Person>
}

/** PATCH /api/me */
export function updateMe({ retrieve, rename }: Options): Operation<'updateMe'> {
  return async (call) => {
    const { caller, body } = call
    const { name } = body
    if (name === undefined) return { status: 200, json: await retrieve(caller.person.id) }
    return { status: 200, json: await rename(caller, name, actorOf(call)) }
  }
}
