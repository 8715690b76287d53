import { createBudgets } from '../accounts/budgets.ts'
import { createLedger } from '../accounts/ledger.ts'
import type { Budget } from '../bytes/budget.ts'
import type { Config } from '../config.ts'
import { fingerprintKeyBytes } from '../core/recall/fingerprint.ts'
import { createRecollection } from '../core/recall/recollection.ts'
import { createUploads, uploadsKeyBytes } from '../mcp/uploads.ts'
import type { PrimaryLine } from '../peers/primary-line.ts'
import { createDarkroom } from '../pictures/finish.ts'
import { createGuardedFetch, type PublicNet } from '../pictures/guarded-fetch.ts'
import { createIdempotency } from '../policy/idempotency.ts'
import { RateLimit } from '../policy/rate-limit.ts'
import { createResponseCache } from '../policy/response-cache.ts'
import { createRouteHealth } from '../policy/route-health.ts'
import { createLines } from '../providers/transport/lines.ts'
import type { GatewaySecret } from '../storage/gateway-secret.ts'
import type { GuardedStore } from '../storage/store-guard.ts'
import type { Events } from '../telemetry/events.ts'
import type { ConnectFarCache } from './far-cache.ts'
import { assembleCounts } from './counts.ts'
import type { Peers } from './peers.ts'
import { workerShares } from './worker-shares.ts'

type Options = {
  /** The settings at the start. */
  config: Config
  /** The limits as they are now. */
  limits: () => Config['limits']
  store: GuardedStore
  secret: GatewaySecret
  events: Events
  budget: Budget
  /** Where this gateway is several processes. */
  peers?: Pick<Peers, 'redis'>
  primary?: PrimaryLine | undefined
  publicNet: PublicNet
  connectFarCache?: ConnectFarCache | undefined
  clock: () => number
  monotonic: () => number
}

/** A host of pictures redirects once or twice, to where they are stored. */
const pictureRedirectsMax = 3

/** What `assembleLasting` builds. */
export type Lasting = ReturnType<typeof assembleLasting>

/**
 * What calls use and what outlives a reload: connections, memories, counts and queues. Where a limit
 * is asked for by `limits()`, a reload changes it; those of `config` are there from the start to
 * the end.
 */
export function assembleLasting(options: Options) {
  const { config, limits, store, events, budget, publicNet, clock, monotonic } = options
  const { uploadDir } = config
  const first = config.limits
  const { peers, primary } = options
  const counting = { limits, redis: peers?.redis, primary, events, monotonic }
  const { counts, close: closeCounts } = assembleCounts(counting)
  return {
    guarded: createGuardedFetch({
      redirectsMax: pictureRedirectsMax,
      connectionsMax: first.upstreamConnectionsMax,
      ...publicNet,
    }),
    darkroom: createDarkroom(first, budget),
    lines: createLines(monotonic),
    ...assembleMemory(options),
    health: createRouteHealth({ limits, monotonic }),
    rateLimit: new RateLimit({ counts, defaults: limits, monotonic }),
    closeCounts,
    record: createLedger(store, first, events.recorded),
    idempotency: createIdempotency({
      store,
      limits,
      clock,
      onFault: events.faulted,
      isOneOfSeveral: primary !== undefined || store.dialect === 'postgres',
    }),
    budgets: createBudgets({ store, clock, limits: first }),
    uploads:
      uploadDir === undefined
        ? undefined
        : createUploads(uploadDir, first, {
            key: options.secret.keyFor('saved pictures', uploadsKeyBytes),
            monotonic,
          }),
  }
}

/** What is remembered here and elsewhere, and by what calls recognise each other. */
function assembleMemory({ config, secret, limits, connectFarCache, ...options }: Options) {
  const connected = connectFarCache?.({ ...options, secret, limits })
  const { monotonic } = options
  const { cacheBytesMax: bytesMax } = workerShares(config)
  const cache = createResponseCache({ bytesMax, limits, far: connected?.far, monotonic })
  const { recallFar } = cache
  const fingerprintKey = secret.keyFor('fingerprints', fingerprintKeyBytes)
  const claim = recallFar && connected?.claimsWith(recallFar)
  return { cache, recollection: createRecollection({ fingerprintKey, claim }) }
}
