import { createArtifactStore } from '../accounts/oauth/artifact-store.ts'
import { sweepOAuth } from '../accounts/oauth/oauth-sweep.ts'
import { createOwnKeys } from '../accounts/oauth/own-keys.ts'
import { matchesSecret } from '../accounts/oauth/registered-clients.ts'
import { toolServerAddress } from '../config.ts'
import { createPublicOrigin } from '../http/public-origin.ts'
import { createOAuthServer } from '../oauth/index.ts'
import { createGuardedFetch, type PublicNet } from '../pictures/guarded-fetch.ts'
import { createRegistrationLimit } from '../policy/registration-limit.ts'
import type { Events } from '../telemetry/events.ts'
import { assembleOAuthPages, type OAuthPagesOptions } from './oauth-pages.ts'

type Options = OAuthPagesOptions & {
  events: Events
  publicNet: PublicNet
  monotonic: () => number
}

/** The authorization server, with what it needs of the store and of the network. */
export function assembleOAuth(options: Options) {
  const { config, store, audit, announce, events, publicNet, clock, monotonic } = options
  const { limits, clientRegistration, clientDocuments } = config
  // A document that redirects is none.
  const guarded = createGuardedFetch({
    redirectsMax: 0,
    connectionsMax: limits.upstreamConnectionsMax,
    ...publicNet,
  })
  const sweep = sweepOAuth({
    store,
    announce,
    clock,
    limits,
    onSwept: (error) => events.worked('oauth_sweep', error),
  })
  const server = createOAuthServer({
    rules: {
      registration: clientRegistration === 'open',
      documents: clientDocuments === 'open',
    },
    publicOrigin: createPublicOrigin(config.baseUrl),
    audience: toolServerAddress(config),
    store: createArtifactStore({ store, audit, announce, clock, limits }),
    readKeys: createOwnKeys({ store, clock }),
    matchesSecret,
    identify: options.identify,
    fetchPublic: async (address, fetchLimits) => {
      const pieces: Buffer[] = []
      const sink = { push: (piece: Buffer) => void pieces.push(piece) }
      await guarded.fetch(address, { ...fetchLimits, accept: 'application/json' }, sink)
      return Buffer.concat(pieces).toString()
    },
    countRegistration: createRegistrationLimit(
      () => ({
        perAddressMax: limits.oauthRegistrationsPerHourMax,
        totalMax: limits.oauthRegistrationsTotalPerHourMax,
        entriesMax: limits.signInEntriesMax,
      }),
      monotonic,
    ),
    clientAttempts: options.people.clientAttempts,
    pages: assembleOAuthPages(options),
    limits,
    onFault: events.faulted,
    connectionLog: options.connectionLog,
  })
  return {
    ...server,
    close: async () => {
      sweep.close()
      await guarded.close()
    },
  }
}
