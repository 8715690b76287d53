import type { Accounts } from '../accounts/accounts.ts'
import type { Audit } from '../accounts/audit.ts'
import type { Keys } from '../accounts/keys.ts'
import type { Config } from '../config.ts'
import type { Identify } from '../core/caller.ts'
import type { ConnectionLog } from '../core/connection-log.ts'
import type { ClaimKey } from '../core/recall/idempotency.ts'
import type { CountRefused } from '../core/limits.ts'
import type { Tracing } from '../core/trace.ts'
import type { ActFor } from '../http/authorize.ts'
import { createContractRouter, type loadContract } from '../http/contract-router.ts'
import { createSecurity } from '../http/security.ts'
import type { Elsewhere } from '../mcp/elsewhere.ts'
import { createToolServer } from '../mcp/index.ts'
import { sessionKeyBytes } from '../mcp/sessions.ts'
import { v1Forms } from '../v1/index.ts'
import type { Generation } from './generation.ts'
import { announcedTextMax, type Announce } from '../peers/announcement.ts'
import type { Channel } from '../peers/channel.ts'
import type { PublicNet } from '../pictures/guarded-fetch.ts'
import type { GatewaySecret } from '../storage/gateway-secret.ts'
import type { GuardedStore } from '../storage/store-guard.ts'
import type { Events } from '../telemetry/events.ts'
import { assembleOAuth } from './oauth.ts'
import type { PeopleParts } from './people.ts'

type Options = {
  loaded: Awaited<ReturnType<typeof loadContract>>
  /** The settings at the start. */
  config: Config
  current: () => Generation
  identify: Identify
  people: PeopleParts
  actFor: ActFor
  onFailure: Parameters<typeof createToolServer>[0]['onFailure']
  connectionLog: ConnectionLog
  claimKey: ClaimKey
  countRefused: CountRefused
  channel: Channel
  tracing: Tracing | undefined
  events: Events
  store: GuardedStore
  secret: GatewaySecret
  audit: Audit
  announce: Announce
  accounts: Accounts
  keys: Keys
  /** What stands for the internet. */
  publicNet: PublicNet
  clock: () => number
  monotonic: () => number
}

/** The faces of the contract, behind its router: they answer with the generation that is current. */
export function assembleFaces(options: Options) {
  const { config, current, channel, onFailure, monotonic } = options
  const allowsOrigin = (origin: string) => current().allowsOrigin(origin)
  const toolServer = createToolServer({
    config,
    inForce: current,
    allowsOrigin,
    claimKey: options.claimKey,
    countRefused: options.countRefused,
    elsewhere: elsewhereOver(channel),
    sessionKey: options.secret.keyFor('tool sessions', sessionKeyBytes),
    onFailure,
    connectionLog: options.connectionLog,
    tracing: options.tracing,
    monotonic,
  })
  const { fromElsewhere } = toolServer
  channel.listen({
    call_cancelled: ({ id, keyId, sessionId }) => fromElsewhere.cancel({ keyId, sessionId }, id),
    log_level_set: ({ level, keyId, sessionId }) =>
      fromElsewhere.setLevel({ keyId, sessionId }, level),
    tool_session_ended: ({ keyId, sessionId }) => fromElsewhere.endSession({ keyId, sessionId }),
    call_told: ({ accountId, told }) => fromElsewhere.tellState(accountId, told),
  })
  const contract = createContractRouter(options.loaded, {
    inForce: current,
    forms: v1Forms,
    security: createSecurity({
      identify: options.identify,
      identifySession: options.people.sessions.identify,
      cookie: options.people.cookie,
      baseUrl: config.baseUrl,
    }),
    actFor: options.actFor,
    claimKey: options.claimKey,
    countRefused: options.countRefused,
    addressOf: (request) => current().addressOf(request),
    limits: config.limits,
  })
  return { contract, toolServer, oauth: assembleOAuth(options) }
}

/** What tool clients do here, told to the other processes. */
function elsewhereOver({ isAlone, announce }: Channel): Elsewhere {
  return {
    cancel: (client, id) => {
      if (String(id).length <= announcedTextMax) announce({ kind: 'call_cancelled', ...client, id })
    },
    setLevel: (client, level) => announce({ kind: 'log_level_set', ...client, level }),
    endSession: (client) => announce({ kind: 'tool_session_ended', ...client }),
    tellState: isAlone
      ? undefined
      : (accountId, told) => announce({ kind: 'call_told', accountId, told }),
  }
}
