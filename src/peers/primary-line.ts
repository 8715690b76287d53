import { createLine, createRegistry, type Line, type LineLimits, type Topics } from './line.ts'
import type { Pipe } from './pipe.ts'

/** A worker's end of the line to the primary. */
export type PrimaryLine = Line & Topics<'primary'>

type Options = {
  pipe: Pipe
  limits: LineLimits
  monotonic: () => number
  onFault: (error: unknown) => void
}

/** Joins a worker to the primary. */
export function createPrimaryLine(options: Options): PrimaryLine {
  const registry = createRegistry<'primary'>()
  const line = createLine<'primary'>({ ...options, registry, sender: 'primary' })
  return { ...line, answer: registry.answer, on: registry.on }
}
