import { signalActor } from '../accounts/audit.ts'
import { operatorChange, type OperatorChangeParts } from '../accounts/operator-change.ts'
import type { Reload, Reloaded } from '../api/settings.ts'
import { ConfigError, type Loaded } from '../settings/config.ts'
import { changesBetween, type Changes } from '../settings/changes.ts'
import type { Actor } from '../core/caller.ts'
import { GatewayError } from '../core/error.ts'
import type { Channel } from '../peers/channel.ts'
import type { Events } from '../telemetry/events.ts'
import type { SettingsNow } from './calls.ts'
import type { Generation } from './generation.ts'

/** The current generation, and earlier generations with running calls. */
export function createGenerations(atStart: ReturnType<SettingsNow>) {
  let current: Generation | undefined
  const ending = new Set<Promise<void>>()
  const end = (generation: Generation, timeoutMs: number): void => {
    const ended = generation.end(timeoutMs).finally(() => ending.delete(ended))
    ending.add(ended)
  }
  return {
    /** Throws before the first generation. */
    current: (): Generation => {
      if (current === undefined) throw new Error('There are no settings yet.')
      return current
    },
    /** The current settings; before the first generation, the settings at the start. */
    settings: () => current?.config ?? atStart,
    /** Makes a generation the current one; the previous generation ends after its last call. */
    begin: (next: Generation) => {
      const before = current
      current = next
      if (before !== undefined) end(before, endTimeoutMs(before))
    },
    /** Ends all generations; must be called after the last call has ended. */
    close: async () => {
      if (current !== undefined) end(current, 0)
      await Promise.all(ending)
    },
  }
}

/** Timeout of ending a generation: the longer of the two deadlines of calls. */
function endTimeoutMs({ config: { limits } }: Generation): number {
  return Math.max(limits.chatTimeoutMs, limits.imageTimeoutMs)
}

type Options = {
  /** Reads all settings, with the stored keys of providers. Rejects with a ConfigError. */
  readSettings: () => Promise<Loaded>
  current: () => Pick<Generation, 'config' | 'secrets'>
  build: (settings: Changes['applied']) => Generation
  /** Makes the next generation the current one. */
  begin: (next: Generation, changes: Changes) => void
  isDraining: () => boolean
  /** Writes a reload and its changes to the audit log. */
  note: (by: Actor, changes: Changes) => Promise<void>
  /** Exchanges reload requests with other processes. */
  channel: Pick<Channel, 'announce' | 'listen'>
  events: Pick<Events, 'reloaded' | 'reloadRefused'>
  clock: () => number
}

/** Limit of queued reloads. Each reload reads all files, so a further one would change nothing. */
const waitingMax = 8

/** The originator of a reload whose cause is already in the audit log. */
const alreadyLogged = 'already logged'
type By = Actor | typeof alreadyLogged

/**
 * Runs reloads one after another. Errors in the settings are returned and logged. After a reload through the
 * API the other replicas reload their own files too; a signal reloads only its own gateway. `apply` reloads
 * after a change that is in the audit log; `reread` does so without waiting.
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
      // Reset before the files are read, so that a later announcement starts another reload.
      isAnnounced = false
      await inTurn(alreadyLogged).catch(() => undefined)
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
  return { reload, reread, apply: () => inTurn(alreadyLogged) }
}

async function reloadOnce(options: Options, by: By): Promise<Reloaded> {
  const { current, build, begin, note, isDraining, clock } = options
  if (isDraining()) throw stopping()
  const read = await readAll(options.readSettings)
  const changes = changesBetween(current(), read)
  const { changed, needsRestart, applied } = changes
  const next = changed.length === 0 ? undefined : build(applied)
  try {
    if (by !== alreadyLogged) await note(by, changes)
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
    notices: [...read.doubts],
  }
}

async function readAll(readSettings: Options['readSettings']): Promise<Loaded> {
  try {
    return await readSettings()
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const text = `The new settings are invalid, so the current ones stay in force. ${error.inOneLine}`
    throw new GatewayError('invalid_value', text)
  }
}

/** Writes the names of changed settings to the audit log; values may contain addresses and key names. */
export function createNote(parts: OperatorChangeParts): Options['note'] {
  return (by, { changed, needsRestart }) =>
    operatorChange(parts, by, 'settings.reload', async () => ({
      target: 'settings',
      after: { changed, needs_restart: needsRestart },
    }))
}

function stopping(): GatewayError {
  return new GatewayError(
    'overloaded',
    'The gateway is shutting down and does not reload settings.',
  )
}

function tooMany(): GatewayError {
  return new GatewayError(
    'overloaded',
    'Other reloads are running. Try again when they have ended.',
    {
      retryAfterSeconds: 1,
    },
  )
}
