import {
  bytes,
  id,
  integer,
  integerOrZero,
  oneOf,
  optionalInteger,
  optionalText,
  text,
  type Table,
} from './columns.ts'

/** The columns by which usage is summed. */
const hourColumns = {
  account_id: text,
  mode: text,
  hour_at: integer,
  key_id: text,
  model: text,
  provider: text,
  face: text,
  modality: text,
  outcome: text,
}

/** Calls, their sums, budgets and answers in version 0.1. Never change them: later migrations do. */
/** Labels of the caller: a JSON list; a column of `usage` since migration 0042, of `reservations` since 0043. */
export const tagsOfCall = { tags: optionalText }

export const callTables = {
  usage: {
    columns: {
      id: text,
      at: integer,
      account_id: text,
      key_id: text,
      mode: text,
      face: text,
      modality: text,
      model: text,
      provider: optionalText,
      upstream_model: optionalText,
      outcome: text,
      error_code: optionalText,
      cache: text,
      input_tokens: integer,
      cached_input_tokens: integer,
      output_tokens: integer,
      reasoning_tokens: integer,
      images: integer,
      cost_nano_usd: optionalInteger,
      cost_status: text,
      attempts: text,
      duration_ms: integer,
      cache_write_tokens: integerOrZero,
      image_input_tokens: integerOrZero,
      image_output_tokens: integerOrZero,
      audio_input_tokens: integerOrZero,
      audio_output_tokens: integerOrZero,
      served_model: optionalText,
      service_tier: optionalText,
      pricing: optionalText,
      asked_model: optionalText,
      warnings: optionalText,
      saved_nano_usd: optionalInteger,
    },
    // Reports read rows in this order, and a commit changes few pages.
    key: { usage_key: ['account_id', 'at', 'id'] },
    inKeyOrder: true,
  },
  usage_hours: {
    columns: {
      ...hourColumns,
      calls: integer,
      cached_calls: integer,
      unpriced_calls: integer,
      cost_nano_usd: integer,
      input_tokens: integer,
      cached_input_tokens: integer,
      cache_write_tokens: integer,
      audio_input_tokens: integer,
      image_input_tokens: integer,
      output_tokens: integer,
      reasoning_tokens: integer,
      audio_output_tokens: integer,
      image_output_tokens: integer,
      images: integer,
      duration_ms: integer,
      saved_nano_usd: integerOrZero,
    },
    key: { usage_hours_pkey: Object.keys(hourColumns) },
    inKeyOrder: true,
  },
  idempotent_answers: {
    columns: {
      key_digest: id,
      id: text,
      account_id: text,
      key_id: text,
      operation: text,
      fingerprint: text,
      state: oneOf<'in_progress' | 'done' | 'unknown' | 'lost'>(),
      owner: text,
      http_status: optionalInteger,
      headers: optionalText,
      body_bytes: integer,
      created_at: integer,
      deadline_at: integer,
      expires_at: integer,
    },
    indexes: { idempotent_answers_expires_at: ['expires_at'] },
  },
  idempotent_answer_pieces: {
    columns: { answer_id: text, position: integer, content: bytes, expires_at: integer },
    key: { idempotent_answer_pieces_key: ['answer_id', 'position'] },
    indexes: { idempotent_answer_pieces_expires_at: ['expires_at'] },
  },
  stored_responses: {
    columns: {
      id,
      account_id: text,
      key_id: text,
      mode: oneOf<'live' | 'test'>(),
      created_at: integer,
      expires_at: integer,
      text_bytes: integer,
      size_bytes: integer,
      encryption_key_id: text,
      ciphertext: bytes,
      /** Null for a response that has ended. */
      runs_until: optionalInteger,
    },
    indexes: {
      // Has all columns that the size of an account is computed from, so that no content is read.
      stored_responses_account: ['account_id', 'created_at', 'id', 'size_bytes'],
      stored_responses_expires_at: ['expires_at'],
    },
  },
  stored_response_items: {
    columns: {
      account_id: text,
      mode: oneOf<'live' | 'test'>(),
      item_id: text,
      /** The response that the item was first stored with. */
      response_id: text,
      /** The newest response that holds a copy of the item. */
      latest_id: text,
    },
    key: { stored_response_items_key: ['account_id', 'mode', 'item_id'] },
    indexes: {
      stored_response_items_response_id: ['response_id'],
      stored_response_items_latest_id: ['latest_id'],
    },
  },
  reservations: {
    columns: {
      request_id: id,
      account_id: text,
      key_id: text,
      nano_usd: integer,
      at: integer,
      expires_at: integer,
      process: optionalText,
      face: optionalText,
      modality: optionalText,
      model: optionalText,
    },
  },
  budget_windows: {
    columns: {
      owner_id: text,
      starts_at: integer,
      ends_at: integer,
      spent_nano_usd: integer,
      reserved_nano_usd: integer,
    },
    // The end comes first: queries read an owner's few windows that have not ended.
    key: { budget_windows_key: ['owner_id', 'ends_at', 'starts_at'] },
  },
  write_checks: {
    columns: { id, at: integer },
  },
} satisfies Record<string, Table>
