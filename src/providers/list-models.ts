import { uncounted } from '../bytes/budget.ts'
import { ProviderFailure } from '../core/failure.ts'
import type { Dispatch } from './transport/dispatch.ts'
import { parseJson, receive, wholeReader } from './transport/upstream.ts'
import type { VendorTexts } from './transport/vendor-texts.ts'
import type { Vendor } from './vendor.ts'

type Listed = Pick<Vendor, 'modelsPath' | 'modelsHeaders' | 'modelNames'>
type Upstream = { dispatch: Dispatch; texts: VendorTexts }

/** A call waits for the list; without it the name is unknown. */
const timeoutMs = 3000
/** Far above the largest list of a vendor; it bounds what a broken one takes. */
const bytesMax = 4 * 1024 * 1024
const namesMax = 10_000

/** Reads the names of a vendor's own list of models. Rejects with a ProviderFailure. */
export function modelLister(
  { modelsPath, modelsHeaders = {}, modelNames = openAiNames }: Listed,
  { dispatch, texts }: Upstream,
): (signal: AbortSignal) => Promise<readonly string[]> {
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
        return plainNames(modelNames(parseJson(whole.finish()) as object), texts)
      }
      return { push: whole.push, finish }
    })
}

/** The first names that callers can be told; a list may be long. */
function plainNames(names: readonly unknown[], texts: VendorTexts): string[] {
  const plain: string[] = []
  for (const name of names.slice(0, namesMax)) {
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
