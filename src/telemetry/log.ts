import { pino, type DestinationStream, type Logger } from 'pino'

export type Log = Logger & {
  /**
   * Prints or counts soon, together with others: what a line by itself costs is mostly the code that
   * was not in use since the line before. Whoever prints so says the time.
   */
  defer(task: () => void): void
  /** Does what was deferred. */
  settle(): void
}

const deferMs = 200
const deferredMax = 300
/** A write for each line would wake another thread for each. */
const flushMs = 50
const bufferBytes = 16_384
/** Of lines that nobody takes, what goes beyond is dropped. */
const unwrittenBytesMax = 16 * 1024 * 1024

/**
 * The program's log: one JSON object a line, written in batches. What goes into it is decided in
 * events.ts alone, field by field, so that no secret can.
 */
export function createLog(level: string, destination?: DestinationStream): Log {
  const { defer, settle } = createBatch()
  const logger = pino(
    {
      level,
      timestamp: false,
      mixin: () => ({ time: new Date().toISOString() }),
      formatters: { level: (label) => ({ level: label }) },
      base: null,
    },
    destination ?? standardError(settle),
  )
  return Object.assign(logger, { defer, settle })
}

function createBatch(): Pick<Log, 'defer' | 'settle'> {
  let deferred: (() => void)[] = []
  let timer: NodeJS.Timeout | undefined
  const settle = () => {
    clearTimeout(timer)
    timer = undefined
    const due = deferred
    deferred = []
    for (const task of due) task()
  }
  return {
    defer: (task) => {
      deferred.push(task)
      if (deferred.length >= deferredMax) settle()
      else timer ??= setTimeout(settle, deferMs).unref()
    },
    settle,
  }
}

/**
 * Collects lines in front of pino's own destination, which copies all that it has collected for each
 * line that it is given.
 */
function standardError(settle: () => void): DestinationStream {
  const file = pino.destination({ dest: 2, sync: false, maxLength: unwrittenBytesMax })
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
    write: (line) => {
      lines.push(line)
      length += line.length
      if (length >= bufferBytes) pass()
      else timer ??= setTimeout(pass, flushMs).unref()
    },
    flush: (onFlushed: (error?: Error) => void) => {
      pass()
      file.flush(onFlushed)
    },
  } as DestinationStream
}
