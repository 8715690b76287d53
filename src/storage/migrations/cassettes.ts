import { bytes, idIn, integer, optionalText, text, type Table } from './columns.ts'

/** Recorded answers of vendors. */
export const cassetteTables = {
  cassettes: {
    columns: {
      id: text,
      account_id: idIn('accounts'),
      name: text,
      interactions: integer,
      bytes: integer,
      /** 0 if an answer did not fit. */
      is_complete: integer,
      created_at: integer,
      updated_at: integer,
    },
    key: { cassettes_key: ['account_id', 'name'] },
    indexes: { cassettes_updated_at: ['updated_at'] },
  },
  cassette_interactions: {
    columns: {
      cassette_id: text,
      /** The place in the cassette, from 1. */
      number: integer,
      text_bytes: integer,
      encryption_key_id: text,
      ciphertext: bytes,
    },
    key: { cassette_interactions_key: ['cassette_id', 'number'] },
  },
} satisfies Record<string, Table>

/** The cassette that a key records or replays. */
export const cassetteOfKey = { cassette: optionalText }
