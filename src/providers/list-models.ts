import { uncounted } from '../bytes/memory-budget.ts'
import { ProviderFailure } from '../core/failure.ts'
import type { Dispatch, UpstreamRequest } from './transport/dispatch.ts'
import { parseJson, receive, wholeReader } from './transport/upstream.ts'
import type { VendorTexts } from './transport/vendor-texts.ts'
import type { Vendor } from './vendor.ts'

type Listed = Pick<Vendor, 'modelsPath' | 'modelsAtOrigin' | 'modelsHeaders' | 'modelNames'>
/** Calls wait for the list at most this long; then the requested name counts as unknown. */
const timeoutMs = 3000
/** Bounds the memory for a broken list; far above the largest list of any vendor. */
const bytesMax = 4 * 1024 * 1024
const namesMax = 10_000

/** Returns a function that fetches a vendor's model names. It rejects with a ProviderFailure. */
export function modelLister(
  { modelNames = openAiNames, ...listed }: Listed,
  { dispatch, texts }: { dispatch: Dispatch; texts: VendorTexts },
): (signal: AbortSignal) => Promise<readonly string[]> {
  const request = modelsRequest(listed, timeoutMs)
  return (signal) =>
    receive({ dispatch, request, bytesMax }, { signal, memory: uncounted }, ({ status }) =>
      wholeReader((bytes) => {
        if (status !== 200)
          throw new ProviderFailure('malformed', 'The provider returned no list of models.')
        // The answer is not validated: `receive` reports a wrong shape as `malformed`.
        return plainNames(modelNames(parseJson(bytes) as object), texts)
      }),
    )
}

/** The request for a vendor's list of models; by default as OpenAI's. */
export function modelsRequest(
  {
    modelsPath = '/models',
    modelsAtOrigin,
    modelsHeaders = {},
  }: Partial<Omit<Listed, 'modelNames'>>,
  timeLimitMs: number,
): UpstreamRequest {
  return {
    method: 'GET',
    path: modelsPath,
    atOrigin: modelsAtOrigin === true,
    headers: { ...modelsHeaders },
    limits: {
      headersTimeoutMs: timeLimitMs,
      idleTimeoutMs: timeLimitMs,
      endTimeoutMs: timeLimitMs,
    },
  }
}

/** The names that are safe to show to callers, from the first `namesMax` of a list. */
function plainNames(names: readonly unknown[], texts: VendorTexts): string[] {
  const plain: string[] = []
  for (const name of names.slice(0, namesMax)) {
    const clean = texts.name(name)
    if (clean !== undefined && !unsafe.test(clean)) plain.push(clean)
  }
  return plain
}

/** Characters that model names do not contain and that HTML pages and shells interpret. */
const unsafe = /[\s<>"'`\\]/

/** The names of a list in OpenAI's form; some vendors return the array without an object around it. */
export function openAiNames(list: { data?: { id?: unknown }[] }): unknown[] {
  return (Array.isArray(list) ? (list as { id?: unknown }[]) : (list.data ?? [])).map(
    ({ id }) => id,
  )
}
