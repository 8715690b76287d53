import { createAccounts } from '../accounts/accounts.ts'
import { createAudit } from '../accounts/audit.ts'
import { createConnectionLog } from '../accounts/connection-log.ts'
import { createIdentify } from '../accounts/identify.ts'
import { createRefusals } from '../accounts/refusals.ts'
import { isOfSession } from '../accounts/session-keys.ts'
import { createKeyWatch } from '../accounts/key-watch.ts'
import { createLastUse } from '../accounts/last-use.ts'
import { toolScope } from '../oauth/metadata.ts'
import type { Announce } from '../peers/announcement.ts'
import { createHearing, type Channel, type Listeners } from '../peers/channel.ts'
import { toolServerAddress, type Config } from '../config.ts'
import type { GatewayError } from '../core/error.ts'
import { attemptOf } from '../http/refused-attempt.ts'
import type { GuardedStore } from '../storage/store-guard.ts'
import type { Events } from '../telemetry/events.ts'

type Options = {
  store: GuardedStore
  config: Config
  channel: Channel
  events: Events
  clock: () => number
  monotonic: () => number
}

/**
 * The accounts, and what knows and follows their keys. What is announced, here or by another process,
 * is looked up anew at once; without an announcement it is soon.
 */
export function assembleAccounts({ store, config, channel, events, clock, monotonic }: Options) {
  const { limits } = config
  const audit = createAudit(store, clock)
  const lastUse = createLastUse({ store, clock, ...limits })
  const connectionLog = createConnectionLog({
    store,
    clock,
    limits,
    onWritten: (error) => events.worked('connection_log', error),
  })
  const refusals = createRefusals({
    store,
    clock,
    limits,
    onWritten: (error) => events.worked('refusals', error),
  })
  const keyWatch = createKeyWatch({ store, clock, ...limits })
  const onUse = lastUse.note
  const known = createIdentify({
    store,
    clock,
    monotonic,
    ...limits,
    tokensFor: { audience: toolServerAddress(config), scope: toolScope },
    onUse,
  })
  const changed: Listeners = {
    keys_changed: ({ keyIds }) => {
      known.forget(({ keyId, boundTo = keyId }) =>
        [keyId, boundTo].some((id) => keyIds.includes(id)),
      )
      keyWatch.look()
    },
    account_changed: ({ accountId: id }) => known.forget(({ accountId }) => accountId === id),
    sessions_changed: () => {
      known.forget(isOfSession)
      keyWatch.look()
    },
  }
  channel.listen(changed)
  const here = createHearing()
  here.listen(changed)
  const announce: Announce = (announcement) => {
    here.hear(announcement)
    channel.announce(announcement)
  }
  return {
    audit,
    accounts: createAccounts({ store, audit, announce, clock }),
    announce,
    lastUse,
    connectionLog,
    refusals,
    /** Notes an error that is answered, for those who may mend its cause. */
    noteRefusal: (error: GatewayError, refused: Parameters<typeof attemptOf>[1]): void => {
      refusals.count(error, refused.caller)
      const attempt = attemptOf(error, refused)
      if (attempt !== undefined) connectionLog.refused(attempt)
    },
    identify: known.identify,
    followKey: keyWatch.follow,
    close: async () => {
      keyWatch.close()
      await lastUse.close()
      await connectionLog.close()
      await refusals.close()
    },
  }
}
