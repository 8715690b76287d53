import { isWellFormedKey } from '../accounts/api-key.ts'
import type { Accounts } from '../accounts/accounts.ts'
import type { Audit } from '../accounts/audit.ts'
import type { Keys } from '../accounts/keys.ts'
import { createConnections } from '../accounts/oauth/connections.ts'
import { notAKey } from '../accounts/read-key.ts'
import { strangerOf } from '../api/entrance.ts'
import type { Config } from '../config.ts'
import type { Identify } from '../core/caller.ts'
import type { ConnectionLog } from '../core/connection-log.ts'
import { GatewayError, StoreRefusal } from '../core/error.ts'
import { createAddressCheck } from '../http/allowed-addresses.ts'
import type { AnswerOptions } from '../oauth/pages/answer-interaction.ts'
import type { PageCall, ShownKey } from '../oauth/pages/interaction-pages.ts'
import { createInteractionTokens } from '../oauth/pages/interaction-tokens.ts'
import type { Announce } from '../peers/announcement.ts'
import type { GatewaySecret } from '../storage/gateway-secret.ts'
import type { GuardedStore } from '../storage/store-guard.ts'
import type { PeopleParts } from './people.ts'

export type OAuthPagesOptions = {
  config: Config
  people: PeopleParts
  keys: Pick<Keys, 'retrieve'>
  accounts: Pick<Accounts, 'retrieve'>
  store: GuardedStore
  audit: Audit
  announce: Announce
  clock: () => number
  identify: Identify
  secret: GatewaySecret
  connectionLog: ConnectionLog
}

/** What the pages need on which people sign in and decide about clients. */
export function assembleOAuthPages(
  options: OAuthPagesOptions,
): Omit<AnswerOptions, 'interactions'> {
  const { config, people, secret } = options
  const connections = createConnections({ ...options, limits: config.limits })
  const isSecure = config.baseUrl?.startsWith('https:') === true
  return {
    personOf: async (token) => {
      const caller = await people.sessions.identify(token)
      return { caller, person: await people.people.retrieve(caller.person.id) }
    },
    keyOf: (keyId) => keyOf(options, keyId),
    signIn: (credentials, call) => people.entrance.signIn(credentials, strangerOf(call)),
    register: (person, call) => people.newcomers.signUp(person, strangerOf(call)),
    signOut: (caller, actor) => people.sessions.end(caller, caller.person.sessionId, actor),
    useKey: (key, call) => useKey(options, key, call),
    connect: (consent) => connections.connect(consent).catch(asGatewayError),
    cookie: people.cookie,
    tokens: createInteractionTokens(secret.keyFor('oauth pages', tokenKeyBytes), isSecure),
    connectionLog: options.connectionLog,
    signUp: config.signUp === 'open',
    baseUrl: config.baseUrl,
  }
}

const tokenKeyBytes = 32

/** The key as its holder is told of it, while it is one. */
async function keyOf(
  { keys, accounts }: OAuthPagesOptions,
  keyId: string,
): Promise<ShownKey | undefined> {
  const key = await keys.retrieve({ id: keyId }).catch(unlessNotFound)
  if (key === undefined || key.state !== 'active') return undefined
  const { id, name, hint, mode } = key
  const holder = { id, address: null, accountId: key.account_id, scopes: [], isOperator: false }
  const { name: accountName } = await accounts.retrieve(holder, key.account_id)
  return { id, name, hint, mode, account: { id: key.account_id, name: accountName } }
}

/** Guesses are slowed down as those at passwords are. */
async function useKey(
  { people, identify }: OAuthPagesOptions,
  key: string,
  call: PageCall,
): Promise<string> {
  if (key === '') throw new GatewayError('missing_api_key', 'Fill in an API key.')
  const succeeded = await people.attempts.begin(strangerOf(call))
  if (!isWellFormedKey(key)) throw notAKey(key)
  const caller = await identify({ authorization: undefined, apiKey: key })
  createAddressCheck(call.addressOf)(caller, call.request)
  if (!caller.scopes.includes('inference')) {
    const text = "This API key may not call models. Use one that has the scope 'inference'."
    throw new GatewayError('insufficient_scope', text)
  }
  succeeded()
  return caller.keyId
}

function unlessNotFound(error: unknown): undefined {
  if (error instanceof GatewayError && error.code === 'not_found') return undefined
  throw error
}

function asGatewayError(error: unknown): never {
  if (error instanceof StoreRefusal) throw new GatewayError('invalid_value', error.message)
  throw error
}
