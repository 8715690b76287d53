import type { Schemas } from '../../data/api.ts'

type Remedy = {
  what: string
  remedy: string
  /** Whether the page also shows the gateway's error message. */
  showsMessage?: true
}

/** What the client did, as a predicate after its name, and the remedy. */
const remedies: Record<Schemas['AttemptReason'], Remedy> = {
  key_expired: {
    what: 'used an expired key',
    remedy: 'Create another key and put it into the client, or change when this one expires.',
  },
  key_revoked: {
    what: 'used a revoked key',
    remedy: 'Put another key into the client, or remove this one from it.',
  },
  key_unknown: {
    what: 'used a key that does not exist',
    remedy: 'Copy the complete key again, without quotes. Keys start with mag_.',
  },
  connection_ended: {
    what: 'used a connection that has ended',
    remedy: 'Connect it again in the client.',
  },
  address_not_allowed: {
    showsMessage: true,
    what: 'called from an IP address that its key does not allow',
    remedy: 'Add the address to the key, or call from an address that the key allows.',
  },
  scope_missing: {
    showsMessage: true,
    what: 'tried an operation that its key may not use',
    remedy: 'Give the key the scope, or use another key.',
  },
  model_not_allowed: {
    showsMessage: true,
    what: 'requested a model that its key may not call',
    remedy: 'Add the model to the key, or request another model.',
  },
  budget_spent: {
    showsMessage: true,
    what: 'made a call that the budget does not cover',
    remedy: 'Raise the budget, wait until it resets, or make a cheaper call.',
  },
  consent_denied: {
    what: 'was denied by a person',
    remedy: 'If that was a mistake, connect again and allow it.',
  },
  token_refused: {
    showsMessage: true,
    what: 'got no token',
    remedy: 'Connect it again in the client: its sign-in has expired, or was used before.',
  },
  registration_refused: {
    showsMessage: true,
    what: 'could not register itself',
    remedy: 'Update the client, or use an API key.',
  },
  authorization_refused: {
    showsMessage: true,
    what: 'started a sign-in with a wrong redirect address or parameter',
    remedy: 'Remove the server from the client and add it again, so that it registers anew.',
  },
}

export function remedyOf({ reason }: Pick<Schemas['RefusedAttempt'], 'reason'>): Remedy {
  return remedies[reason]
}
