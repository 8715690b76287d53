import { pino, type DestinationStream, type Logger } from 'pino'

export type Log = Logger

/**
 * The program's log: one JSON object a line, written in batches. Whatever is called like a secret is
 * left out, should anyone ever pass one.
 */
export function createLog(level: string, destination?: DestinationStream): Log {
  return pino(
    {
      level,
      redact: [
        'authorization',
        'apiKey',
        'key',
        'token',
        '*.authorization',
        '*.apiKey',
        '*.key',
        '*.token',
      ],
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      base: null,
    },
    destination ?? pino.destination({ dest: 2, sync: false }),
  )
}
