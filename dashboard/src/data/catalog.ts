import { bodyOf, GET, type Schemas } from './api.ts'
import { accountQuery } from './session.ts'

/** Pause in typing before the gateway is asked for what is typed. */
const typingPauseMs = 250

/** Path of a model's page. */
export function pathOf(id: string): string {
  return `/models/${id.split('/').map(encodeURIComponent).join('/')}`
}

/** Waits until nothing has been typed for a moment. Throws when the signal is aborted. */
export async function afterTyping(signal: AbortSignal): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, typingPauseMs))
  signal.throwIfAborted()
}

/** The model of a name that is not in the catalog: only the gateway knows all snapshots, prefixes and spellings. */
export async function modelNamed(
  model: string,
  signal: AbortSignal,
): Promise<Schemas['CatalogEntry'][]> {
  await afterTyping(signal)
  const params = { query: { ...accountQuery(), model } }
  return (await bodyOf(GET('/api/models', { params, signal }))).data
}
