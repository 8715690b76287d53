import type { Schemas } from './api.ts'
import { place } from './place.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs

/** A time range in ISO 8601; `to` is exclusive. */
export type Range = { from: string; to: string }

/** Time ranges that end now. */
export const lastRanges = [
  { name: 'day', title: '24 hours', unit: 'hour', stepMs: hourMs, steps: 24 },
  { name: 'week', title: '7 days', unit: 'day', stepMs: dayMs, steps: 7 },
  { name: 'month', title: '30 days', unit: 'day', stepMs: dayMs, steps: 30 },
] as const

type Unit = 'hour' | 'day' | 'month'
/** The longest ranges that are plotted by hours and by days. */
const hoursSpanMsMax = 2 * dayMs
const daysSpanMsMax = 92 * dayMs
/** The longest range that is plotted: a page of a report has at most 100 steps. */
const spanMsMax = 8 * 366 * dayMs

/**
 * The range in the address: the name of one of the ranges above, a calendar month such as `2026-10`, or two
 * dates such as `2026-10-05..2026-10-20`. Calendar months and days are in UTC, as in the gateway's reports.
 */
export function rangeInPlace(otherwise: (typeof lastRanges)[number]['name'], nowMs = Date.now()) {
  const asked = place.value.query.get('range') ?? ''
  const months = /^\d{4}-\d{2}$/.test(asked) ? monthsFrom(`${asked}-01`, nowMs) : undefined
  const [first = '', last = ''] = asked.split('..')
  const startMs = Date.parse(`${first}T00:00Z`)
  const endMs = Date.parse(`${last}T00:00Z`) + dayMs
  if (months !== undefined) return { name: asked, ...months }
  if (startMs < endMs && endMs - startMs <= spanMsMax) {
    return {
      name: asked,
      ...stepsOf(startMs, endMs),
      before: rangeOf(2 * startMs - endMs, startMs),
    }
  }
  const found =
    lastRanges.find(({ name }) => name === asked) ??
    lastRanges.find(({ name }) => name === otherwise)!
  const untilMs = (Math.floor(nowMs / found.stepMs) + 1) * found.stepMs
  const spanMs = found.steps * found.stepMs
  return {
    name: found.name,
    ...stepsOf(untilMs - spanMs, untilMs, found.unit),
    before: rangeOf(untilMs - 2 * spanMs, untilMs - spanMs),
  }
}

export type RangeOfTime = ReturnType<typeof rangeInPlace>

/** A calendar month, up to the current day, and as much of the month before it; undefined without such a month. */
function monthsFrom(first: string, nowMs: number) {
  const startMs = Date.parse(`${first}T00:00Z`)
  if (Number.isNaN(startMs) || startMs > nowMs) return undefined
  const tomorrowMs = (Math.floor(nowMs / dayMs) + 1) * dayMs
  const endMs = Math.min(nextOf(startMs, 'month'), tomorrowMs)
  const beforeMs = startOfMonth(startMs - 1)
  const isWhole = endMs < tomorrowMs
  const beforeEndMs = isWhole ? startMs : Math.min(beforeMs + endMs - startMs, startMs)
  return { ...stepsOf(startMs, endMs, 'day'), before: rangeOf(beforeMs, beforeEndMs) }
}

function stepsOf(startMs: number, endMs: number, unit: Unit = unitOf(endMs - startMs)) {
  const steps: Range[] = []
  for (let atMs = unit === 'month' ? startOfMonth(startMs) : startMs; atMs < endMs;) {
    const nextMs = nextOf(atMs, unit)
    steps.push(rangeOf(atMs, nextMs))
    atMs = nextMs
  }
  return { unit, now: rangeOf(startMs, endMs), /** In the form that reports use. */ steps }
}

function unitOf(spanMs: number): Unit {
  if (spanMs <= hoursSpanMsMax) return 'hour'
  return spanMs <= daysSpanMsMax ? 'day' : 'month'
}

function nextOf(atMs: number, unit: Unit): number {
  if (unit !== 'month') return atMs + (unit === 'hour' ? hourMs : dayMs)
  const at = new Date(atMs)
  return Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1)
}

function startOfMonth(atMs: number): number {
  const at = new Date(atMs)
  return Date.UTC(at.getUTCFullYear(), at.getUTCMonth())
}

function rangeOf(fromMs: number, toMs: number): Range {
  return { from: new Date(fromMs).toISOString(), to: new Date(toMs).toISOString() }
}

/** Whether the address asks for calls with live keys or test keys. */
export function modeInPlace(): Schemas['Mode'] {
  return place.value.query.get('mode') === 'test' ? 'test' : 'live'
}
