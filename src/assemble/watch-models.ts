import { sweepAgain, type Sweep } from '../accounts/sweep.ts'
import { modelsInUse } from '../accounts/usage/models-in-use.ts'
import { dayMs, hourMs } from '../accounts/usage/range.ts'
import { modelNotices } from '../catalog/model-notices.ts'
import type { Generation } from './generation.ts'
import type { Environment, StoreParts } from './store.ts'

/**
 * Logs what changes for the models in use each day and when it differs; updates the metric each hour. One of several
 * workers does so, since they share the metrics.
 */
export function watchModels(
  { events, clock }: Pick<Environment, 'events' | 'clock'>,
  { store }: Pick<StoreParts, 'store'>,
  current: () => Pick<Generation, 'config' | 'models'>,
): Sweep {
  let logged = { atMs: 0, text: '' }
  const look = async () => {
    const used = await modelsInUse(store.reader, clock())
    const { config, models } = current()
    const found = modelNotices(models.catalog, config, used, clock())
    const [atMs, text] = [clock(), found.sentences.join()]
    const isDue = text !== '' && (text !== logged.text || atMs >= logged.atMs + dayMs)
    if (isDue) logged = { atMs, text }
    events.modelsSeen(found, isDue)
    return true
  }
  const onSwept = (error?: unknown) => events.worked('model_notices', error)
  return sweepAgain(look, { intervalMs: hourMs, onSwept })
}
