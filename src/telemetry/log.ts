import { pino, type DestinationStream, type Logger } from 'pino'

export type Log = Logger

// A write for each line would wake another thread for each request.
const bufferBytes = 16_384
const flushMs = 250

/**
 * The program's log: one JSON object a line, written in batches. What goes into it is decided in
 * events.ts alone, field by field, so that no secret can.
 */
export function createLog(level: string, destination?: DestinationStream): Log {
  return pino(
    {
      level,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      base: null,
    },
    destination ??
      pino.destination({
        dest: 2,
        sync: false,
        minLength: bufferBytes,
        maxWrite: 2 * bufferBytes,
        periodicFlush: flushMs,
      }),
  )
}
