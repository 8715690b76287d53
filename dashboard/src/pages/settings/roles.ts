import { RoleValues } from '../../../../generated/client-values.ts'
import type { Schemas } from '../../data/api.ts'
import { isOwner } from '../../data/session.ts'

/** Permissions of each role. */
export const roleHints: Record<Schemas['Role'], string> = {
  owner: 'the permissions of an admin, and manages owners.',
  admin: 'the permissions of a member, and manages keys, members and settings.',
  member: 'calls models and reads the usage.',
}

/** Roles that the person may assign and remove. Only owners may assign the owner role. */
export function rolesToGive(): Schemas['Role'][] {
  return RoleValues.filter((role) => isOwner.value || role !== 'owner')
}
