import type { components } from '../../../generated/types.ts'
import { languageModels, readTranslated, type ReadTranslated } from '../../core/chat/read-chat.ts'
import type { ThoughtSeal } from '../../core/chat/sealed-thoughts.ts'
import { withName } from '../../core/error.ts'
import type { Gateway } from '../../core/gateway.ts'
import type { StoredResponses } from '../../core/stored-responses.ts'
import type { Operation } from '../../http/operation.ts'
import { countHeaders } from '../../http/receipt-headers.ts'
import { readHistory, type History } from './history.ts'
import { nativeBody, readRequest, type ReadRequest } from './request.ts'

export type ReadOptions = {
  gateway: Gateway
  sealOf: (accountId: string) => ThoughtSeal
  storedResponses: StoredResponses
  clock: () => number
}

type ReadCall = ReadTranslated & Pick<ReadRequest, 'tools' | 'compacts'> & { history: History }

/**
 * Reads a request, for the call itself, its price and its tokens. Throws a GatewayError that names a
 * parameter of the request.
 */
export async function readCall(
  call: Parameters<typeof readHistory>[0],
  { gateway, sealOf, storedResponses, clock }: ReadOptions,
): Promise<ReadCall> {
  const { body, caller } = call
  const { find } = gateway
  const models = languageModels(body, { caller, find }, forPictures)
  const [{ model, vendor }] = models
  const seal = sealOf(caller.accountId)
  const history = await readHistory(call, storedResponses, clock)
  const { tools, compacts, ...translated } = readWhole(history, {
    takesCustom: vendor?.takesCustomTools === true,
    searchesOffline: model?.prices.webSearch !== undefined && vendor?.nativeApi === 'responses',
    editsImages: (name) => find(name, caller).model?.row.capabilities.image_edit === true,
    open: seal.open,
  })
  const native = {
    api: 'responses',
    headers: {},
    seal,
    // The gateway makes the images itself.
    bodyOf: (draft: ReadTranslated['draft']) =>
      tools.images() === undefined ? nativeBody(history.body, draft) : undefined,
  } as const
  const read = readTranslated(translated, { ...call, models }, native, gateway)
  return { ...read, history, tools, compacts }
}

/** POST /v1/responses/input_tokens */
export function countResponseTokens(options: ReadOptions): Operation<'countResponseTokens'> {
  return async (call) => {
    const read = await readCall(call, options)
    try {
      const count = await options.gateway.countInput(read, call)
      const json: components['schemas']['ResponseTokensCount'] = {
        object: 'response.input_tokens',
        input_tokens: count.tokens,
      }
      return { status: 200, headers: countHeaders(count), json }
    } catch (thrown) {
      throw withName(thrown, read.nameOf)
    }
  }
}

/** Reads a request with its history; errors and warnings name the parameters of the request itself. */
function readWhole(
  { body, nameOf }: History,
  options: Parameters<typeof readRequest>[1],
): ReadRequest {
  try {
    const read = readRequest(body, options)
    return { ...read, nameOf: (param) => nameOf(read.nameOf(param)) }
  } catch (thrown) {
    throw withName(thrown, nameOf)
  }
}

const forPictures = (id: string) =>
  `${id} makes images. Send the request to /v1/images/generations or /v1/chat/completions.`
