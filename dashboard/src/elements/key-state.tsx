import type { Schemas } from '../data/api.ts'

const looks = { active: 'good', expired: 'warn', revoked: '' } as const

/** Whether a key, a connection or a client still works. */
export function KeyState({ state }: Pick<Schemas['ApiKey'], 'state'>) {
  return <span class={`state ${looks[state]}`}>{state}</span>
}
