import { pino, type DestinationStream, type Logger } from 'pino'

export type Log = Logger

/** A write for each line would wake another thread for each request. */
const bufferBytes = 16_384
const flushMs = 250
/** Of lines that nobody takes, what goes beyond is dropped. */
const unwrittenBytesMax = 16 * 1024 * 1024

/**
 * The program's log: one JSON object a line, written in batches. What goes into it is decided in
 * events.ts alone, field by field, so that no secret can.
 */
export function createLog(level: string, destination = standardError()): Log {
  return pino(
    {
      level,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      base: null,
    },
    destination,
  )
}

/**
 * Collects lines in front of pino's own destination, which copies all that it has collected for each
 * line that it is given.
 */
function standardError(): DestinationStream {
  const file = pino.destination({ dest: 2, sync: false, maxLength: unwrittenBytesMax })
  let lines: string[] = []
  let length = 0
  const pass = () => {
    if (lines.length > 0) file.write(lines.join(''))
    lines = []
    length = 0
  }
  setInterval(pass, flushMs).unref()
  process.once('exit', () => {
    pass()
    file.flushSync()
  })
  return {
    write: (line) => {
      lines.push(line)
      length += line.length
      if (length >= bufferBytes) pass()
    },
    flush: (onFlushed: (error?: Error) => void) => {
      pass()
      file.flush(onFlushed)
    },
  } as DestinationStream
}
