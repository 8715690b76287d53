import { sweepAgain, takeTurn, type Sweep } from '../accounts/sweep.ts'
import { modelsInUse } from '../accounts/usage/models-in-use.ts'
import { dayMs, hourMs } from '../accounts/usage/range.ts'
import { modelNotices } from '../catalog/model-notices.ts'
import type { Generation } from './generation.ts'
import type { Environment, StoreParts } from './store.ts'

/**
 * Logs what changes for the models in use at the start, when it differs, and each day in one of all processes; updates the
 * metric each hour. One of several workers does so, since they share the metrics.
 */
export function watchModels(
  { events, clock }: Pick<Environment, 'events' | 'clock'>,
  { store }: Pick<StoreParts, 'store'>,
  current: () => Pick<Generation, 'config' | 'models'>,
): Sweep {
  let logged = ''
  const look = async () => {
    const used = await modelsInUse(store.reader, clock())
    const { config, models } = current()
    const found = modelNotices(models.catalog, config, used, clock())
    const text = found.sentences.join()
    const isDaily = text !== '' && (await takeTurn(store.db, 'model_notices', clock(), dayMs))
    const isDue = isDaily || (text !== '' && text !== logged)
    if (isDue) logged = text
    events.modelsSeen(found, isDue)
    return true
  }
  const onSwept = (error?: unknown) => events.worked('model_notices', error)
  return sweepAgain(look, { intervalMs: hourMs, onSwept })
}
