import type { Schemas } from '../../data/api.ts'

type Told = {
  what: string
  remedy: string
  /** Whether the gateway's own words say more. */
  isToldMore?: true
}

/** What happened, and what to do about it. */
const remedies: Record<Schemas['AttemptReason'], Told> = {
  key_expired: {
    what: 'tried with an expired key',
    remedy: 'Create another key and put it into the client, or change when this one expires.',
  },
  key_revoked: {
    what: 'tried with a revoked key',
    remedy: 'Put another key into the client, or take this one out of it.',
  },
  key_unknown: {
    what: 'tried with what is no key of this gateway',
    remedy: 'Copy the key again, whole and without quotes: it begins with mag_.',
  },
  connection_ended: {
    what: 'tried with a connection that has ended',
    remedy: 'Connect it again in the client.',
  },
  address_not_allowed: {
    isToldMore: true,
    what: 'tried from an address that its key does not allow',
    remedy: 'Add the address to the key, or call from one of those it allows.',
  },
  scope_missing: {
    isToldMore: true,
    what: 'tried what its key may not do',
    remedy: 'Give the key the scope, or use another key.',
  },
  model_not_allowed: {
    isToldMore: true,
    what: 'asked for a model that its key may not call',
    remedy: 'Add the model to the key, or ask for another one.',
  },
  budget_spent: {
    isToldMore: true,
    what: 'asked for more than the budget covers',
    remedy: 'Raise the budget, wait until it resets, or ask for less.',
  },
  consent_denied: {
    what: 'was told no by a person',
    remedy: 'If that was a mistake, connect again and say yes.',
  },
  token_refused: {
    isToldMore: true,
    what: 'was given no token',
    remedy: 'Connect it again in the client: its sign-in is over, or was used before.',
  },
  registration_refused: {
    isToldMore: true,
    what: 'could not register itself',
    remedy: 'What it sent was refused. Update the client, or use an API key.',
  },
  authorization_refused: {
    isToldMore: true,
    what: 'sent somebody to sign in with a wrong address or parameter',
    remedy: 'Remove the server from the client and add it again, so that it registers anew.',
  },
}

export function remedyOf({ reason }: Pick<Schemas['RefusedAttempt'], 'reason'>): Told {
  return remedies[reason]
}
