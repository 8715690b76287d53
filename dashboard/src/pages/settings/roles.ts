import type { Schemas } from '../../data/api.ts'

/** What people of a role may do. */
export const roleHints: Record<Schemas['Role'], string> = {
  owner: 'all that an admin may, and other owners.',
  admin: 'keys, members and settings, too.',
  member: 'call models and read the usage.',
}
