import { isDeepStrictEqual } from 'node:util'
import type { Loaded } from '../config.ts'
import { settingsTopics } from '../peers/settings-topics.ts'
import type { WorkerId, WorkerLines } from '../peers/worker-lines.ts'

type Options = {
  settings: Loaded
  lines: WorkerLines
  onFailure: (worker: WorkerId, error: unknown) => void
}

/**
 * What all workers go on with: those that one of them has read. The primary brings reloads of several
 * workers into one order, and each worker, who asked included, applies them in it.
 */
export function keepSettings({ settings, lines, onFailure }: Options) {
  let inForce = settings
  let version = 1
  const apply = (worker: WorkerId) =>
    lines
      .ask(worker, settingsTopics.apply, inForce)
      .catch((error: unknown) => onFailure(worker, error))
  lines.answer(settingsTopics.share, async (given) => {
    if (isDeepStrictEqual(given, inForce)) return
    // Only workers of this program ask.
    inForce = given as Loaded
    version++
    await Promise.all(lines.workers().map(apply))
  })
  return {
    inForce: () => ({ settings: inForce, version }),
    /** A worker has begun with settings of that version. */
    begun: (worker: WorkerId, began: number): void => {
      if (began !== version) void apply(worker)
    },
  }
}
