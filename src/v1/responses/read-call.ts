import type { ChatRequest, NativeRequest } from '../../core/chat/chat.ts'
import { checkedPictures } from '../../core/chat/check.ts'
import { withoutEmpty } from '../../core/chat/default-values.ts'
import type { ThoughtSeal } from '../../core/chat/sealed-thoughts.ts'
import { GatewayError } from '../../core/error.ts'
import type { CheckPicture } from '../../core/image/image.ts'
import { makesImages, type Warning } from '../../core/model.ts'
import { refusalOf, type RouteTable } from '../../core/route.ts'
import type { StoredResponses } from '../../core/stored-responses.ts'
import { restoreBase64 } from '../../http/read-body.ts'
import { checkFallbacks } from '../check-fallbacks.ts'
import { readHistory, type History } from './history.ts'
import { nativeBody, readRequest, type ReadRequest } from './request.ts'

export type ReadOptions = {
  routes: Pick<RouteTable, 'peek'>
  /** Whether the vendor with this id takes custom tools. */
  takesCustomTools: (providerId: string) => boolean
  /** The API of the gateway that the vendor with this id has too. */
  nativeApi: (providerId: string) => NativeRequest['api'] | undefined
  checkPicture: CheckPicture
  sealOf: (accountId: string) => ThoughtSeal
  storedResponses: StoredResponses
  clock: () => number
}

type AskedCall = Parameters<typeof readHistory>[0]
type ReadCall = {
  history: History
  asked: ReadRequest
  /** The canonical request, in which large texts may be placeholders. */
  given: ChatRequest
  /** The canonical request as it goes to the core. */
  request: ChatRequest
  /** The adjustments so far. */
  warnings: Warning[]
  /** The request as it came, if the vendor of its model has this API. */
  native: Omit<NativeRequest, 'isTranslatable'> | undefined
}

/**
 * Reads a request, for the call itself, its price and its tokens. Throws a GatewayError that names a
 * parameter of the request.
 */
export async function readCall(call: AskedCall, options: ReadOptions): Promise<ReadCall> {
  const { body, caller, texts, hold } = call
  const { routes } = options
  const model = routes.peek(body.model, caller)
  if (model !== undefined && makesImages(model)) throw forPictures(model.row.id)
  checkFallbacks(body.models ?? [], false, (name) => routes.peek(name, caller))
  const hasApi = model !== undefined && options.nativeApi(model.row.provider) === 'responses'
  const seal = options.sealOf(caller.accountId)
  const history = await readHistory(call, options.storedResponses, options.clock)
  const asked = readWhole(history, {
    takesCustom: model !== undefined && options.takesCustomTools(model.row.provider),
    searchesOffline: model?.prices.webSearch !== undefined && hasApi,
    editsImages: (name) => routes.peek(name, caller)?.row.capabilities.image_edit === true,
    open: seal.open,
  })
  try {
    const given = withoutEmpty(asked.request)
    const corrected = checkedPictures(given, texts, options.checkPicture)
    const request = restoreBase64(corrected?.request ?? given, texts, hold)
    const { lost, only, tools } = asked
    const isSent = corrected === undefined || only !== undefined
    const isNative = hasApi && isSent && tools.images() === undefined
    if (only !== undefined && model !== undefined && !isNative) throw refusalOf([only.problem])
    const native = isNative
      ? ({
          api: 'responses',
          body: restoreBase64(nativeBody(history.body, request), texts, hold),
          headers: {},
          seal,
          lost,
          only,
        } as const)
      : undefined
    const warnings = [...asked.warnings, ...(isNative ? [] : lost), ...(corrected?.warnings ?? [])]
    return { history, asked, given, request, warnings, native }
  } catch (thrown) {
    throw thrown instanceof GatewayError ? thrown.named(asked.nameOf) : thrown
  }
}

/** Reads a request with its history; errors and warnings name the parameters of the request itself. */
function readWhole(
  { body, nameOf }: History,
  options: Parameters<typeof readRequest>[1],
): ReadRequest {
  try {
    const asked = readRequest(body, options)
    return { ...asked, nameOf: (param) => nameOf(asked.nameOf(param)) }
  } catch (thrown) {
    throw thrown instanceof GatewayError ? thrown.named(nameOf) : thrown
  }
}

function forPictures(id: string): GatewayError {
  const message = `${id} makes images. Send the request to /v1/images/generations or /v1/chat/completions.`
  return new GatewayError('model_capability_mismatch', message, { param: 'model' })
}
