import type { Accounts } from '../accounts/accounts.ts'
import { signalActor, type Audit } from '../accounts/audit.ts'
import type { Reload, Reloaded } from '../api/settings.ts'
import { ConfigError, type Config, type Loaded } from '../settings/config.ts'
import { changesBetween, type Changes } from '../settings/changes.ts'
import type { Actor } from '../core/caller.ts'
import { GatewayError } from '../core/error.ts'
import type { GuardedStore } from '../storage/store-guard.ts'
import type { Channel } from '../peers/channel.ts'
import type { Events } from '../telemetry/events.ts'
import type { Generation } from './generation.ts'

/** The current generation, and those before it whose calls have not ended yet. */
type Generations = {
  /** Throws before the first. */
  current(): Generation
  /** The limits in force; before the first generation, those at the start. */
  limits(): Config['limits']
  /** Makes a generation the current one; the one before it ends after its last call. */
  begin(next: Generation): void
  /** Ends all of them, to be called when no call is left. */
  close(): Promise<void>
}

export function createGenerations(atStart: Pick<Config, 'limits'>): Generations {
  let current: Generation | undefined
  const ending = new Set<Promise<void>>()
  const end = (generation: Generation, timeoutMs: number): void => {
    const ended = generation.end(timeoutMs).finally(() => ending.delete(ended))
    ending.add(ended)
  }
  return {
    current: () => {
      if (current === undefined) throw new Error('There are no settings yet.')
      return current
    },
    limits: () => (current?.config ?? atStart).limits,
    begin: (next) => {
      const before = current
      current = next
      if (before !== undefined) end(before, endTimeoutMs(before))
    },
    close: async () => {
      if (current !== undefined) end(current, 0)
      await Promise.all(ending)
    },
  }
}

/** No call lasts longer than the longer of its two deadlines. */
function endTimeoutMs({ config: { limits } }: Generation): number {
  return Math.max(limits.chatTimeoutMs, limits.imageTimeoutMs)
}

type Options = {
  /** Reads all settings. Throws a ConfigError. */
  readSettings: () => Loaded
  current: () => Pick<Generation, 'config' | 'secrets' | 'retiring'>
  build: (settings: Changes['applied']) => Generation
  /** From here on the next generation answers. */
  begin: (next: Generation, changes: Changes) => void
  isDraining: () => boolean
  /** Writes down who reloaded, and what that changes. */
  note: (by: Actor, changes: Changes) => Promise<void>
  /** Where other processes have their settings read again, and say so. */
  channel: Pick<Channel, 'announce' | 'listen'>
  events: Pick<Events, 'reloaded' | 'reloadRefused'>
  clock: () => number
}

/** Each reads the files anew, so that more of them at once say no more. */
const waitingMax = 8

/** A reload that another process has asked for, and has written down. */
const byAnother = 'another process'
type By = Actor | typeof byAnother

/**
 * Reloads one after the other. What is wrong with the settings is told, and logged. What a caller has
 * reloaded the other replicas reload too, each from its own files; a signal concerns its gateway alone.
 */
export function createReload(options: Options) {
  const { channel, events } = options
  let waiting = 0
  let last: Promise<unknown> = Promise.resolve()
  const inTurn = (by: By): Promise<Reloaded> => {
    const turn = last.then(async () => {
      try {
        const reloaded = await reloadOnce(options, by)
        events.reloaded(reloaded)
        return reloaded
      } catch (error) {
        events.reloadRefused(error)
        throw error
      }
    })
    last = turn.catch(() => undefined)
    return turn
  }
  let isAnnounced = false
  const reread = (): void => {
    if (isAnnounced) return
    isAnnounced = true
    const read = async () => {
      // The files are read after this; what goes wrong is logged.
      isAnnounced = false
      await inTurn(byAnother).catch(() => undefined)
    }
    void last.then(read)
  }
  channel.listen({ settings_reloaded: reread })
  const reload: Reload = async (by) => {
    if (waiting >= waitingMax) throw tooMany()
    waiting++
    const reloaded = await inTurn(by).finally(() => waiting--)
    if (by.id !== signalActor.id) channel.announce({ kind: 'settings_reloaded' })
    return reloaded
  }
  return { reload, reread }
}

async function reloadOnce(options: Options, by: By): Promise<Reloaded> {
  const { current, build, begin, note, isDraining, clock } = options
  if (isDraining()) throw stopping()
  const read = readAll(options.readSettings)
  const changes = changesBetween(current(), read)
  const { changed, needsRestart, applied } = changes
  const next = changed.length === 0 ? undefined : build(applied)
  try {
    if (by !== byAnother) await note(by, changes)
    if (isDraining()) throw stopping()
  } catch (error) {
    await next?.end(0)
    throw error
  }
  if (next !== undefined) begin(next, changes)
  return {
    object: 'reload',
    applied_at: new Date(clock()).toISOString(),
    changed: [...changed],
    needs_restart: [...needsRestart],
    notices: [...read.doubts, ...current().retiring],
  }
}

function readAll(readSettings: Options['readSettings']): Loaded {
  try {
    return readSettings()
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const complaints = error.message.replaceAll('\n', ' ')
    const text = `The settings are not right, and those in force stay. ${complaints}`
    throw new GatewayError('invalid_value', text)
  }
}

type NoteParts = {
  accounts: Pick<Accounts, 'first'>
  audit: Pick<Audit, 'write'>
  store: Pick<GuardedStore, 'db'>
}

/** Writes down which settings changed: their values may hold addresses and names of keys. */
export function createNote({ accounts, audit, store }: NoteParts): Options['note'] {
  return async (by, { changed, needsRestart }) => {
    const { id: accountId } = await accounts.first()
    await store.db.transaction().execute((transaction) =>
      audit.write(transaction, by, {
        account_id: accountId,
        action: 'settings.reload',
        target: 'settings',
        after: { changed, needs_restart: needsRestart },
      }),
    )
  }
}

function stopping(): GatewayError {
  return new GatewayError('overloaded', 'The gateway is shutting down and reloads nothing.')
}

function tooMany(): GatewayError {
  return new GatewayError('overloaded', 'Reloads are under way. Try again when they have ended.', {
    retryAfterSeconds: 1,
  })
}
