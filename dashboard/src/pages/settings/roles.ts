import { RoleValues } from '../../../../generated/client-values.ts'
import type { Schemas } from '../../data/api.ts'
import { isOwner } from '../../data/session.ts'

/** What people of a role may do. */
export const roleHints: Record<Schemas['Role'], string> = {
  owner: 'everything that an admin may, and manages owners.',
  admin: 'manages keys, members and settings, too.',
  member: 'calls models and reads the usage.',
}

/** The roles that the person may give to others, and take from them: only owners make owners. */
export function rolesToGive(): Schemas['Role'][] {
  return RoleValues.filter((role) => isOwner.value || role !== 'owner')
}
