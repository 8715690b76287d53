import { styleText } from 'node:util'

type Level = 'fatal' | 'error' | 'warn' | 'info' | 'debug'
type Line = { level: Level; time: string; msg: string; cause?: { stack?: string[] } }

const styles = { fatal: 'red', error: 'red', warn: 'yellow', info: 'green', debug: 'gray' } as const

/**
 * A line of the log for a terminal: the local time, the level, the message, and the other fields as
 * `name=value`; the stack of an error follows on lines of its own. Colored if `stream` is a
 * terminal; NO_COLOR and FORCE_COLOR override that.
 */
export function textLine(json: string, stream: NodeJS.WritableStream): string {
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
