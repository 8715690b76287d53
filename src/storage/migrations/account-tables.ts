import {
  bytes,
  id,
  idIn,
  integer,
  integerOrZero,
  oneOf,
  optionalInteger,
  optionalText,
  text,
  uniqueText,
  type Table,
} from './columns.ts'

/** Limits and budget of an account or key. */
export const allowanceColumns = {
  requests_per_minute: optionalInteger,
  tokens_per_minute: optionalInteger,
  images_per_minute: optionalInteger,
  concurrency: optionalInteger,
  budget_nano_usd: optionalInteger,
  budget_period: oneOf<'day' | 'month' | 'total' | null>(''),
}

const role = oneOf<'owner' | 'admin' | 'member'>()

/** Accounts, people, keys and clients in version 0.1. Never change them: later migrations do. */
/** Whether an account keeps the prompts of its image jobs: a column of `accounts` since migration 0033. */
export const keptPrompts = { keeps_prompts: integerOrZero }
/** What the sandbox plays for a key, and for how many more calls: columns of `api_keys` since migration 0035. */
export const playedStates = { played: optionalText, played_calls: optionalInteger }

/** Limits of a person in an account, beside the role: columns of `members` and `invitations` since migration 0043. */
export const memberLimits = {
  ...allowanceColumns,
  /** 1 if their keys may call only the sandbox. */
  sandbox_only: optionalInteger,
  /** What the member may give keys of their own; null for a member who may create none. */
  key_bounds: optionalText,
}
/** Budgets of the tags of a key's calls, as JSON: a column of `api_keys` since migration 0043. */
export const tagBudgets = { tag_budgets: optionalText }

/** The owner of the last budget that refused such calls: a column of `refusals` since migration 0046. */
export const refusingBudget = { budget_owner_id: optionalText }

export const accountTables = {
  gateway_secrets: {
    columns: { id, secret: bytes, created_at: integer },
  },
  provider_keys: {
    columns: {
      id,
      provider_id: text,
      encryption_key_id: text,
      ciphertext: bytes,
      hint: text,
      created_at: integer,
      created_by: text,
    },
  },
  stored_settings: {
    columns: { id, yaml: text, updated_at: integer, updated_by: text },
  },
  accounts: {
    columns: {
      id,
      name: text,
      created_at: integer,
      ...allowanceColumns,
      is_operator: integerOrZero,
    },
  },
  people: {
    columns: { id, email: uniqueText, name: text, password_hash: text, created_at: integer },
  },
  api_keys: {
    columns: {
      id,
      account_id: idIn('accounts'),
      name: text,
      mode: oneOf<'live' | 'test'>(),
      digest: uniqueText,
      hint: text,
      allowed_models: optionalText,
      created_at: integer,
      expires_at: optionalInteger,
      revoked_at: optionalInteger,
      ...allowanceColumns,
      scopes: oneOf<string>(` default '["inference"]' not null`),
      allowed_addresses: optionalText,
      counts_with: optionalText,
      replaced_by: optionalText,
      last_used_at: optionalInteger,
      created_by: optionalText,
      /** `connection`: access that a person gave an OAuth client. `client`: the account's own OAuth client. */
      kind: oneOf<'key' | 'connection' | 'client' | 'session'>(` default 'key' not null`),
      client_id: optionalText,
      client_name: optionalText,
      bound_to: optionalText,
      client_redirect_host: optionalText,
    },
    indexes: {
      api_keys_account_created_at: ['account_id', 'created_at', 'id'],
      api_keys_client: ['client_id', 'account_id'],
      api_keys_bound_to: ['bound_to'],
    },
  },
  members: {
    columns: {
      account_id: idIn('accounts'),
      person_id: idIn('people'),
      role,
      joined_at: integer,
    },
    key: { members_key: ['account_id', 'person_id'] },
    indexes: { members_person: ['person_id'] },
  },
  sessions: {
    columns: {
      id,
      person_id: idIn('people'),
      digest: uniqueText,
      created_at: integer,
      last_used_at: integer,
      expires_at: integer,
      address: optionalText,
      user_agent: optionalText,
    },
    indexes: {
      sessions_person: ['person_id', 'created_at', 'id'],
      sessions_last_used: ['last_used_at'],
    },
  },
  invitations: {
    columns: {
      id,
      account_id: idIn('accounts'),
      role,
      email: text,
      digest: uniqueText,
      created_by: text,
      created_at: integer,
      expires_at: integer,
      used_at: optionalInteger,
    },
    indexes: { invitations_account: ['account_id', 'created_at', 'id'] },
  },
  setup_links: {
    columns: { digest: id, created_at: integer, expires_at: integer, used_at: optionalInteger },
  },
  password_links: {
    columns: {
      digest: id,
      person_id: idIn('people'),
      created_at: integer,
      expires_at: integer,
      used_at: optionalInteger,
    },
    indexes: { password_links_person: ['person_id'] },
  },
  oauth_clients: {
    columns: {
      id,
      account_id: oneOf<string | null>(' references "accounts" ("id")'),
      key_id: optionalText,
      name: text,
      secret_digest: optionalText,
      metadata: text,
      created_by: optionalText,
      created_at: integer,
      last_used_at: integer,
    },
    indexes: {
      oauth_clients_account: ['account_id', 'created_at', 'id'],
      oauth_clients_last_used: ['last_used_at'],
    },
  },
  oauth_artifacts: {
    columns: {
      digest: id,
      kind: text,
      client_id: optionalText,
      grant_id: optionalText,
      uid: optionalText,
      payload: text,
      created_at: integer,
      consumed_at: optionalInteger,
      expires_at: integer,
    },
    indexes: {
      oauth_artifacts_client_id: ['client_id'],
      oauth_artifacts_grant_id: ['grant_id'],
      oauth_artifacts_uid: ['uid'],
      oauth_artifacts_expires_at: ['expires_at'],
    },
  },
  key_clients: {
    columns: {
      id,
      account_id: text,
      key_id: text,
      name: text,
      version: optionalText,
      connected_at: optionalInteger,
      last_seen_at: integer,
      last_tool: optionalText,
      last_tool_at: optionalInteger,
    },
    indexes: {
      key_clients_account: ['account_id', 'last_seen_at', 'id'],
      key_clients_key: ['key_id'],
    },
  },
  refused_attempts: {
    columns: {
      id,
      /** Null if the account is unknown. */
      account_id: optionalText,
      key_id: optionalText,
      reason: text,
      face: text,
      header: optionalText,
      client_name: optionalText,
      client_version: optionalText,
      redirect_host: optionalText,
      address: optionalText,
      message: text,
      request_id: optionalText,
      times: integer,
      first_at: integer,
      last_at: integer,
    },
    indexes: {
      refused_attempts_account: ['account_id', 'last_at', 'id'],
      refused_attempts_last_at: ['last_at'],
    },
  },
  refusals: {
    columns: {
      /** Empty for calls with a key that does not exist; so is `key_id`. */
      account_id: text,
      hour_at: integer,
      key_id: text,
      error_code: text,
      calls: integer,
      last_at: integer,
    },
    key: { refusals_key: ['account_id', 'hour_at', 'key_id', 'error_code'] },
    indexes: { refusals_hour: ['hour_at'] },
  },
  audit_events: {
    columns: {
      id,
      at: integer,
      account_id: text,
      action: text,
      by: text,
      address: optionalText,
      target: text,
      before: optionalText,
      after: optionalText,
    },
    indexes: { audit_events_account_at: ['account_id', 'at', 'id'] },
  },
} satisfies Record<string, Table>
