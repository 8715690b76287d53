import { fstatSync } from 'node:fs'
import { format, styleText } from 'node:util'
import { pino, type DestinationStream, type Logger } from 'pino'
import type { components } from '../../generated/settings.ts'
import { shortened } from '../core/error.ts'

export type Log = Logger & {
  /**
   * Runs the task soon, in a batch, since most of the time of a single line is CPU cache misses. Its lines
   * have the time of this call.
   */
  defer(task: () => void): void
  /** Runs the deferred tasks now. */
  settle(): void
}

const deferMs = 200
const deferredMax = 300
/** Time for which lines are collected, since each write wakes a thread. */
const flushMs = 50
const bufferBytes = 65_536
/** Limit of unwritten bytes while standard error is not read; further lines are dropped. */
const unwrittenBytesMax = 16 * 1024 * 1024

type Settings = components['schemas']['Settings']
type LogOptions = {
  logLevel: NonNullable<Settings['log_level']>
  logFormat: NonNullable<Settings['log_format']>
}

/**
 * The program's log: one line for each event, with these fields, written in batches to standard error. Only
 * events.ts and request-line.ts choose the fields, so that no secret is logged.
 */
export function createLog(
  { logLevel, logFormat }: LogOptions,
  fields: object | null = null,
  destination?: DestinationStream,
): Log {
  const { defer, settle, now } = createBatch()
  const timestamp = createTimestamp(now)
  const logger = pino(
    {
      level: logLevel,
      timestamp,
      formatters: { level: (label) => ({ level: label }) },
      base: fields,
    },
    destination ?? standardError(settle, isText(logFormat)),
  )
  return Object.assign(logger, { defer, settle })
}

/**
 * Makes texts that libraries print to the console lines of the log, which otherwise has lines that are no JSON, such as
 * those of oidc-provider.
 */
export function logConsole(log: Pick<Log, 'info' | 'warn' | 'error'>): void {
  for (const level of ['info', 'warn', 'error'] as const) {
    console[level] = (...words: unknown[]) => {
      log[level]({ text: shortened(format(...words), consoleTextMax) }, 'printed by a library')
    }
  }
}

const consoleTextMax = 1000

/** The member `time` of a line; the text up to the second is printed once. */
function createTimestamp(now: () => number): () => string {
  let second: number | undefined
  let printed = ''
  return () => {
    const nowMs = now()
    const ms = nowMs % 1000
    if (nowMs - ms !== second) {
      second = nowMs - ms
      printed = `,"time":"${new Date(second).toISOString().slice(0, -4)}`
    }
    return `${printed}${String(ms).padStart(3, '0')}Z"`
  }
}

function isText(format: LogOptions['logFormat']): boolean {
  return format === 'auto' ? process.stderr.isTTY : format === 'text'
}

function createBatch(): Pick<Log, 'defer' | 'settle'> & { now: () => number } {
  let deferred: { task: () => void; atMs: number }[] = []
  let timer: NodeJS.Timeout | undefined
  /** The time of the deferred task that runs. */
  let ranAtMs: number | undefined
  const settle = () => {
    if (deferred.length === 0) return
    clearTimeout(timer)
    timer = undefined
    const due = deferred
    deferred = []
    try {
      for (const { task, atMs } of due) {
        ranAtMs = atMs
        task()
      }
    } finally {
      ranAtMs = undefined
    }
  }
  return {
    defer: (task) => {
      deferred.push({ task, atMs: Date.now() })
      if (deferred.length >= deferredMax) settle()
      else timer ??= setTimeout(settle, deferMs).unref()
    },
    settle,
    now: () => ranAtMs ?? Date.now(),
  }
}

type Flush = (onFlushed: (error?: Error) => void) => void

/**
 * Collects lines before they reach pino's destination, which copies its whole buffer for each line. pino also
 * calls `flush`, which its type of a destination omits.
 */
function standardError(settle: () => void, asText: boolean): DestinationStream & { flush: Flush } {
  const file = isPipe() ? pipe() : regularFile()
  let lines: string[] = []
  let length = 0
  let timer: NodeJS.Timeout | undefined
  const pass = () => {
    clearTimeout(timer)
    timer = undefined
    if (lines.length > 0) file.write(lines.join(''))
    lines = []
    length = 0
  }
  process.once('exit', () => {
    settle()
    pass()
    file.flushSync()
  })
  return {
    write: (json) => {
      const line = asText ? textLine(json, process.stderr) : json
      lines.push(line)
      length += line.length
      if (length >= bufferBytes) pass()
      else timer ??= setTimeout(pass, flushMs).unref()
    },
    flush: (onFlushed) => {
      pass()
      file.flush(onFlushed)
    },
  }
}

type Sink = { write(text: string): unknown; flush: Flush; flushSync(): void }

function isPipe(): boolean {
  const kind = fstatSync(2)
  return kind.isFIFO() || kind.isSocket()
}

/**
 * Writes to a pipe without waiting for its reader: a full pipe would block a writing thread, and with it the
 * exit of the process.
 */
function pipe(): Sink {
  const { stderr } = process
  // Ignores the error of a closed pipe; the lines are lost.
  stderr.on('error', () => undefined)
  return {
    write: (text) => {
      if (stderr.writable && stderr.writableLength < unwrittenBytesMax) stderr.write(text)
    },
    flush: (onFlushed) => {
      if (stderr.writable) stderr.write('', () => onFlushed())
      else onFlushed()
    },
    flushSync: () => undefined,
  }
}

/** Writes to a file or a terminal in a thread. */
function regularFile(): Sink {
  const file = pino.destination({ dest: 2, sync: false, maxLength: unwrittenBytesMax })
  // Ignores errors such as a full disk, which must not stop the gateway.
  file.on('error', () => undefined)
  return file
}

type Level = 'fatal' | 'error' | 'warn' | 'info' | 'debug'
type Line = { level: Level; time: string; msg: string; cause?: { stack?: string[] } }

const styles = { fatal: 'red', error: 'red', warn: 'yellow', info: 'green', debug: 'gray' } as const

/**
 * A line of the log for a terminal: the local time, the level, the message, and the other fields as
 * `name=value`; the stack of an error follows on lines of its own. Colored if `stream` is a
 * terminal; NO_COLOR and FORCE_COLOR override that.
 */
function textLine(json: string, stream: NodeJS.WritableStream): string {
  const { level, time, msg, ...fields } = JSON.parse(json) as Line
  const { stack = [], ...cause } = fields.cause ?? {}
  const others = { ...fields, ...(fields.cause && { cause }) }
  const parts = Object.entries(others).map(([name, value]) => `${name}=${valueText(value)}`)
  const at = new Date(time)
  const clock = `${at.toTimeString().slice(0, 8)}.${String(at.getMilliseconds()).padStart(3, '0')}`
  const label = styleText(styles[level], level.toUpperCase().padEnd(5), { stream })
  const head = [styleText('gray', clock, { stream }), label, msg, ...parts].join(' ')
  return [head, ...stack.map((frame) => `    ${frame}`), ''].join('\n')
}

/** A text with spaces, quotes or control characters is quoted, so that it cannot look like other fields. */
function valueText(value: unknown): string {
  return typeof value === 'string' && /^[^\s"=\p{C}]+$/u.test(value) ? value : JSON.stringify(value)
}
