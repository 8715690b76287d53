import { inspect } from 'node:util'
import { Assertion, AssertionError } from 'chai'

/** Equal lines that are shown before the first and after the last difference. */
const linesAround = 3

/**
 * Replaces the two objects of a failed assertion by their lines that differ. Mocha shows an empty difference for
 * objects of more than 8,192 characters or ten levels, and a bigint as a text.
 */
function showDifference(error: Error & { actual?: unknown; expected?: unknown }): void {
  const { actual, expected } = error
  if (typeof actual !== 'object' || typeof expected !== 'object') return
  const [one, other] = [linesOf(actual), linesOf(expected)]
  const shortest = Math.min(one.length, other.length)
  let head = 0
  while (head < shortest && one[head] === other[head]) head++
  let tail = 0
  while (tail < shortest - head && one.at(-1 - tail) === other.at(-1 - tail)) tail++
  const cut = (lines: string[]) =>
    lines.slice(Math.max(0, head - linesAround), lines.length - Math.max(0, tail - linesAround))
  Object.assign(error, { actual: cut(one).join('\n'), expected: cut(other).join('\n') })
}

function linesOf(value: unknown): string[] {
  const options = { depth: Infinity, maxArrayLength: Infinity, breakLength: 80, sorted: true }
  return inspect(value, options).split('\n')
}

const { assert } = Assertion.prototype
// Each assertion of chai ends in this method.
Assertion.prototype.assert = function (...parts: Parameters<typeof assert>) {
  try {
    assert.apply(this, parts)
  } catch (error) {
    if (error instanceof AssertionError) showDifference(error)
    throw error
  }
}
