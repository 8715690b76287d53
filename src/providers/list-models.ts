import { uncounted } from '../bytes/budget.ts'
import { ProviderFailure } from '../core/failure.ts'
import type { Dispatch } from './transport/dispatch.ts'
import { parseJson, receive, wholeReader } from './transport/upstream.ts'
import type { VendorTexts } from './transport/vendor-texts.ts'
import type { Vendor } from './vendor.ts'

type Listed = Pick<Vendor, 'modelsPath' | 'modelsHeaders' | 'modelNames'>
type Limits = {
  modelListTimeoutMs: number
  modelListBytesMax: number
  modelListNamesMax: number
}
type Upstream = { dispatch: Dispatch; texts: VendorTexts; limits: Limits }

/** Reads the names of a vendor's own list of models. Rejects with a ProviderFailure. */
export function modelLister(
  { modelsPath, modelsHeaders = {}, modelNames = openAiNames }: Listed,
  { dispatch, texts, limits }: Upstream,
): (signal: AbortSignal) => Promise<readonly string[]> {
  const { modelListTimeoutMs: timeoutMs, modelListBytesMax: bytesMax } = limits
  const { modelListNamesMax: namesMax } = limits
  const request = {
    method: 'GET' as const,
    path: modelsPath,
    headers: { ...modelsHeaders },
    headersTimeoutMs: timeoutMs,
    idleTimeoutMs: timeoutMs,
    errorTimeoutMs: timeoutMs,
  }
  const unheld = { hold: uncounted, traceHeaders: undefined }
  return (signal) =>
    receive({ dispatch, request, signal, ...unheld, bytesMax }, ({ status }) => {
      const whole = wholeReader()
      const finish = () => {
        if (status !== 200) throw new ProviderFailure('malformed', 'There is no list of models.')
        // Not validated: `receive` reports a wrong shape as `malformed`.
        return plainNames(modelNames(parseJson(whole.finish()) as object), texts, namesMax)
      }
      return { push: whole.push, finish }
    })
}

/** The first names that callers can be told; a list may be long. */
function plainNames(names: readonly unknown[], texts: VendorTexts, max: number): string[] {
  const plain: string[] = []
  for (const name of names.slice(0, max)) {
    const told = texts.name(name)
    if (told !== undefined && !strange.test(told)) plain.push(told)
  }
  return plain
}

/** What no vendor has in a name, and pages and shells do not take as it is. */
const strange = /[\s<>"'`\\]/

/** Some vendors of OpenAI's protocol answer with the bare list. */
function openAiNames(list: { data?: { id?: unknown }[] }): unknown[] {
  return (Array.isArray(list) ? (list as { id?: unknown }[]) : (list.data ?? [])).map(
    ({ id }) => id,
  )
}
