import { readFileSync } from 'node:fs'

/** Ids of the running child processes of a process. */
export function childrenOf(processId: number): number[] {
  const text = readFileSync(`/proc/${processId}/task/${processId}/children`, 'utf8')
  return text.split(' ').filter(Boolean).map(Number)
}
