import type { Schemas } from '../../data/api.ts'

/** What people of a role may do. */
export const roleHints: Record<Schemas['Role'], string> = {
  owner: 'everything that an admin may, and manages owners.',
  admin: 'manages keys, members and settings, too.',
  member: 'calls models and reads the usage.',
}
