import type { Schemas } from '../../data/api.ts'

type AuditEvent = Schemas['AuditEvent']

/** Actions as predicates that follow the actor's name. */
export const actionTexts: Record<AuditEvent['action'], string> = {
  'account.create': 'created the account',
  'account.update': 'changed the account',
  'key.create': 'created the key',
  'key.update': 'changed the key',
  'key.revoke': 'revoked the key',
  'key.rotate': 'rotated the key',
  'settings.reload': 'reloaded the settings',
  'settings.update': 'changed the stored settings',
  'provider_key.create': 'added the provider key',
  'provider_key.delete': 'removed the provider key',
  'provider_key.encrypt': 'encrypted the keys of providers again',
  'oauth_keys.rotate': 'rotated the signing keys',
  'setup_link.create': 'created a set-up link for',
  'person.set_up': 'used a set-up link as',
  'person.update': 'changed the name of',
  'person.change_password': 'changed the password of',
  'password_link.create': 'created a password link for',
  'person.reset_password': 'set a new password with a link as',
  'session.create': 'signed in',
  'session.refuse': 'failed to sign in as',
  'session.delete': 'ended a session',
  'person.sign_up': 'signed up as',
  'person.link_identity': 'signed in with OpenID Connect for the first time as',
  'person.add_passkey': 'added a passkey for',
  'person.remove_passkey': 'removed a passkey of',
  'member.create': 'added the member',
  'member.update': 'changed the role of',
  'member.delete': 'removed the member',
  'invitation.create': 'invited',
  'invitation.delete': 'withdrew the invitation of',
  'webhook.create': 'created the webhook',
  'webhook.update': 'changed the webhook',
  'webhook.delete': 'deleted the webhook',
  'webhook.rotate': 'rotated the secret of the webhook',
  'cassette.import': 'imported the cassette',
  'cassette.delete': 'deleted the cassette',
  'invitation.accept': 'accepted the invitation of',
}

const otherActors: Readonly<Record<string, string>> = {
  command_line: 'The command line',
  signal: 'A signal to the process',
  gateway: 'The gateway',
  unknown: 'Somebody',
}

export const actorOf = ({ by, by_name: name }: AuditEvent): string => name ?? otherActors[by] ?? by

/** Name of the target; empty when the action's text already names it. */
export function targetOf({ action, target, target_name: name, before, after }: AuditEvent): string {
  if (action === 'session.refuse') {
    const times = Number(after?.['times'] ?? 1)
    return `${name ?? 'an unknown person'}, ${times === 1 ? 'once' : `${times} times`}`
  }
  if (name !== null) return name
  const email = after?.['email'] ?? before?.['email']
  if (typeof email === 'string') return email
  return /^(session|settings|oauth_keys|setup_link)\.|^provider_key\.encrypt$/.test(action)
    ? ''
    : target
}

/** Where the actor was. */
export const placeOf = ({ action, address }: AuditEvent): string =>
  address ?? (action === 'session.refuse' ? 'many addresses' : 'the gateway')

/** Members that an action changed, with their old and new values. */
export function changesOf({
  action,
  before,
  after,
}: AuditEvent): [name: string, was: string, is: string][] {
  // The sentence has what the values of failed sign-ins say.
  if (action === 'session.refuse') return []
  const names = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])
  return [...names].map((name) => [name, textOf(before?.[name]), textOf(after?.[name])])
}

/** An event as one line of text. */
export function lineOf(event: AuditEvent): string {
  const changes = changesOf(event).map(([name, was, is]) => `${name}: ${was} → ${is}`)
  return [
    event.at,
    `${actorOf(event)} (${event.by})`,
    `${actionTexts[event.action]} ${targetOf(event)} (${event.target})`.replace('  ', ' '),
    `from ${placeOf(event)}`,
    ...changes,
  ].join('; ')
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return 'none'
  return typeof value === 'string' ? value : JSON.stringify(value)
}
