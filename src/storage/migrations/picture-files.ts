import { bytes, id, integer, oneOf, text, type Table } from './columns.ts'

/** The stored pictures. Never change them: later migrations do. */
export const pictureTables = {
  picture_contents: {
    columns: {
      /** Name of the file in the folder, or of the object in the bucket. */
      place: id,
      account_id: text,
      digest: text,
      bytes: integer,
      state: oneOf<'writing' | 'waiting' | 'stored' | 'removing'>(),
      expires_at: integer,
      encryption_key_id: text,
    },
    indexes: {
      // Has all columns that the size of an account is computed from.
      picture_contents_account: ['account_id', 'digest', 'expires_at', 'bytes'],
      picture_contents_expires_at: ['state', 'expires_at'],
    },
  },
  picture_files: {
    columns: {
      id,
      account_id: text,
      mode: oneOf<'live' | 'test'>(),
      owner_id: text,
      place: text,
      format: oneOf<'png' | 'jpeg' | 'webp' | 'svg'>(),
      created_at: integer,
      expires_at: integer,
    },
    indexes: {
      picture_files_owner_id: ['owner_id'],
      picture_files_place: ['place', 'expires_at'],
      picture_files_expires_at: ['expires_at'],
    },
  },
  /** Contents that the bucket has not accepted yet. */
  waiting_pictures: { columns: { place: id, ciphertext: bytes } },
} satisfies Record<string, Table>
