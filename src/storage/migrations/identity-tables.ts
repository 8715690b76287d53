import { idIn, integer, text, type Table } from './columns.ts'

/** The identities of people at OpenID providers, since migration 0039. */
export const identityTables = {
  person_identities: {
    columns: { issuer: text, subject: text, person_id: idIn('people'), created_at: integer },
    key: { person_identities_key: ['issuer', 'subject'] },
    indexes: { person_identities_person: ['person_id'] },
  },
} satisfies Record<string, Table>
