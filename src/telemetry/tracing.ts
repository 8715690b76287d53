import type { Tracing } from '../core/trace.ts'
import { passingOn } from './passing-on.ts'

type Settings = { traceContext: 'passed_on' | 'taken' | 'ignored' }

/** Starts what follows requests, as the settings ask. */
export function startTracing({ traceContext }: Settings): { tracing: Tracing | undefined } {
  return { tracing: traceContext === 'passed_on' ? passingOn : undefined }
}
