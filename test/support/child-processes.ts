import { readFileSync } from 'node:fs'

/** The processes that a process has started and that have not ended. */
export function childrenOf(processId: number): number[] {
  const text = readFileSync(`/proc/${processId}/task/${processId}/children`, 'utf8')
  return text.split(' ').filter(Boolean).map(Number)
}
