import type { Accounts } from '../accounts/accounts.ts'
import type { Audit } from '../accounts/audit.ts'
import type { KeptConnectionLog } from '../accounts/connection-log.ts'
import type { LastUse } from '../accounts/last-use.ts'
import { sweepReservations } from '../accounts/reservation-sweep.ts'
import type { Config, Loaded } from '../config.ts'
import { isPerson, type Caller, type Identify } from '../core/caller.ts'
import type { GatewayError } from '../core/error.ts'
import type { Tracing } from '../core/trace.ts'
import type { Events } from '../telemetry/events.ts'
import type { PrimaryLine } from '../peers/primary-line.ts'
import { workerEnded } from '../peers/worker-lines.ts'
import { settingsTopics } from '../peers/settings-topics.ts'
import type { Refusals } from '../accounts/refusals.ts'
import type { attemptOf } from '../http/refused-attempt.ts'
import type { loadContract } from '../http/contract-router.ts'
import type { Announce } from '../peers/announcement.ts'
import type { Channel } from '../peers/channel.ts'
import { refusedCounter } from '../policy/rate-limit.ts'
import { assembleAdministration } from './administration.ts'
import { assembleFaces } from './faces.ts'
import { createGeneration } from './generation.ts'
import { createGenerations } from './generations.ts'
import { assembleLasting } from './lasting.ts'
import type { PeopleParts } from './people.ts'
import { createNote, createReload } from './reload.ts'

type Options = Omit<Parameters<typeof assembleLasting>[0], 'limits'> &
  Omit<Parameters<typeof createGeneration>[0], 'lasting' | 'others'> & {
    loaded: Awaited<ReturnType<typeof loadContract>>
    accounts: Accounts
    people: PeopleParts
    announce: Announce
    channel: Channel
    replicas: Channel
    audit: Audit
    lastUse: LastUse
    identify: Identify
    connectionLog: KeptConnectionLog
    refusals: Refusals
    noteRefusal: NoteRefusal
    readSettings: () => Loaded
    /** In a worker, the line to the primary. */
    primary: PrimaryLine | undefined
    isDraining: () => boolean
    tracing: Tracing | undefined
    setLogLevel: (level: Config['logLevel']) => void
  }

type NoteRefusal = (error: GatewayError, refused: Parameters<typeof attemptOf>[1]) => void

/** What answers requests: the parts that last, and the first generation of those that do not. */
export function assembleAnswers(options: Options) {
  const { accounts, people, events, primary } = options
  const generations = createGenerations()
  const { current } = generations
  // Asked for before there is a generation, too.
  let { limits } = options.config
  const lasting = assembleLasting({ ...options, limits: () => limits })
  const { reload, apply } = createReload({
    ...options,
    ...(primary && { share: shareOver(primary, events.faulted) }),
    current,
    build: (settings) => createGeneration({ ...options, ...settings, lasting, others }),
    begin: (next, { providerIds, concernsModels }) => {
      generations.begin(next)
      limits = next.config.limits
      for (const id of providerIds) lasting.health.forget(id)
      options.setLogLevel(next.config.logLevel)
      if (concernsModels) toolServer.announceToolsChanged()
    },
    note: createNote(options),
  })
  // Only the primary asks.
  primary?.answer(settingsTopics.apply, (settings) => apply(settings as Loaded))
  const { budgets } = lasting
  const sweep = sweepReservations({
    ...options,
    budgets,
    intervalMs: options.config.limits.reservationCheckIntervalMs,
    onAbandoned: events.reservationAbandoned,
    onSwept: (error) => events.worked('reservation_sweep', error),
  })
  // Twice: the look that is under way may have begun before.
  primary?.on(workerEnded, () => void sweep.look().then(sweep.look))
  const lookAtLimits = (caller: Caller) => lasting.rateLimit.look(caller)
  const lent = { budgets, health: lasting.health, current, lookAtLimits, reload }
  const administration = assembleAdministration({ ...options, ...lent })
  const faces = assembleFaces({
    ...options,
    current,
    actFor: async (caller, accountId = caller.accountId) =>
      isPerson(caller)
        ? people.sessions.actFor(caller, accountId)
        : accounts.actFor(caller, accountId),
    onFailure: toolFailed(events, options.noteRefusal),
    claimKey: lasting.idempotency.claimKey,
    countRefused: refusedCounter((...call) => lasting.rateLimit.admit(...call)),
    keys: administration.keys,
  })
  const { toolServer, oauth } = faces
  const others = { ...toolServer.operations, ...administration.operations, ...oauth.operations }
  generations.begin(createGeneration({ ...options, lasting, others }))
  return {
    ...faces,
    current,
    reload,
    keys: administration.keys,
    close: async () => {
      sweep.close()
      await generations.close()
      await oauth.close()
      await lasting.closeCounts()
      await lasting.guarded.close()
      await lasting.idempotency.close()
    },
  }
}

/** A tool that fails is answered all the same; the account is told of what it can mend. */
function toolFailed(
  events: Events,
  noteRefusal: NoteRefusal,
): Parameters<typeof assembleFaces>[0]['onFailure'] {
  return (tool, error, context) => {
    events.toolFailed(tool, error, context)
    const { caller, requestId } = context
    const request = { headers: {}, url: '/mcp' }
    noteRefusal(error, { request, requestId, caller, address: null })
  }
}

/** What goes wrong elsewhere does not undo what has been reloaded here. */
function shareOver(primary: PrimaryLine, onFault: (error: unknown) => void) {
  return async (settings: Loaded): Promise<void> => {
    await primary.ask(settingsTopics.share, settings).catch(onFault)
  }
}
