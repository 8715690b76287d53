import { ProviderFailure } from '../core/failure.ts'
import type { Dispatch } from './transport/dispatch.ts'
import { parseJson, receive, wholeReader } from './transport/upstream.ts'
import type { Vendor } from './vendor.ts'

type Listed = Pick<Vendor, 'modelsPath' | 'modelsHeaders' | 'modelNames'>
type Limits = { modelListTimeoutMs: number; modelListBytesMax: number }

/** Reads the names of a vendor's own list of models. Rejects with a ProviderFailure. */
export function modelLister(
  { modelsPath, modelsHeaders = {}, modelNames = openAiNames }: Listed,
  dispatch: Dispatch,
  { modelListTimeoutMs: timeoutMs, modelListBytesMax: bytesMax }: Limits,
): (signal: AbortSignal) => Promise<readonly string[]> {
  const request = {
    method: 'GET' as const,
    path: modelsPath,
    headers: { ...modelsHeaders },
    headersTimeoutMs: timeoutMs,
    idleTimeoutMs: timeoutMs,
  }
  return (signal) =>
    receive({ dispatch, request, signal, bytesMax }, ({ status }) => {
      const whole = wholeReader()
      const finish = () => {
        if (status !== 200) throw new ProviderFailure('malformed', 'There is no list of models.')
        // Not validated: `receive` reports a wrong shape as `malformed`.
        const names = modelNames(parseJson(whole.finish()) as object)
        return names.filter((name): name is string => typeof name === 'string')
      }
      return { push: whole.push, finish }
    })
}

/** Some vendors of OpenAI's protocol answer with the bare list. */
function openAiNames(list: { data?: { id?: unknown }[] }): unknown[] {
  return (Array.isArray(list) ? (list as { id?: unknown }[]) : (list.data ?? [])).map(
    ({ id }) => id,
  )
}
