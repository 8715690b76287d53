import {
  bytes,
  id,
  idIn,
  integer,
  optionalInteger,
  text,
  uniqueText,
  type Table,
} from './columns.ts'

/** The identities of people at OpenID providers, since migration 0039. */
export const identityTables = {
  person_identities: {
    columns: { issuer: text, subject: text, person_id: idIn('people'), created_at: integer },
    key: { person_identities_key: ['issuer', 'subject'] },
    indexes: { person_identities_person: ['person_id'] },
  },
} satisfies Record<string, Table>

/** The passkeys of people, and the challenges that were used up, since migration 0044. */
export const passkeyTables = {
  passkeys: {
    columns: {
      id,
      person_id: idIn('people'),
      name: text,
      credential_id: uniqueText,
      public_key: bytes,
      counter: integer,
      created_at: integer,
      last_used_at: optionalInteger,
    },
    indexes: { passkeys_person: ['person_id'] },
  },
  passkey_challenges: { columns: { id, used_at: integer } },
} satisfies Record<string, Table>
