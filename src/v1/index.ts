import type { components } from '../../generated/types.ts'
import { restoreBase64 } from '../core/chat/read-chat.ts'
import type { Gateway } from '../core/gateway.ts'
import type { Catalog, ImageFormOf } from '../core/model.ts'
import type { BackgroundCalls } from '../core/resilience/background-calls.ts'
import type { RouteTable } from '../core/route.ts'
import type { PictureFiles } from '../core/picture-files.ts'
import type { ProviderStates } from '../core/provider-states.ts'
import type { StoredResponses } from '../core/stored-responses.ts'
import type { Operations } from '../http/contract-router.ts'
import { contextOf, type Operation } from '../http/operation.ts'
import { receiptHeaders } from '../http/receipt-headers.ts'
import { createChatCompletion } from './create-chat-completion.ts'
import { createEmbedding } from './create-embedding.ts'
import { createImageEdit, editForm } from './create-image-edit.ts'
import type { ImageParts } from './image-jobs/create-job.ts'
import {
  cancelImageJob,
  deleteImageJob,
  listImageJobs,
  retrieveImageJob,
} from './image-jobs/stored-jobs.ts'
import { streamImageJob } from './image-jobs/stream-job.ts'
import { createImage } from './create-image.ts'
import type { ThoughtSeal } from '../core/chat/sealed-thoughts.ts'
import { compactResponse } from './responses/compact-response.ts'
import { createResponse } from './responses/create-response.ts'
import { countResponseTokens } from './responses/read-call.ts'
import { quotePrice } from './quote-price.ts'
import { setSandboxState } from './set-sandbox-state.ts'
import { listModels, retrieveModel } from './list-models.ts'
import { retrieveImageFile } from './retrieve-image-file.ts'
import { countMessageTokens, createMessage } from './messages/create-message.ts'
import {
  cancelResponse,
  deleteResponse,
  listResponseInputItems,
  retrieveResponse,
} from './responses/stored-responses.ts'

type Options = ImageParts & {
  gateway: Gateway
  catalog: Catalog
  routes: RouteTable
  imageFormOf: ImageFormOf
  sealOf: (accountId: string) => ThoughtSeal
  storedResponses: StoredResponses
  pictureFiles: PictureFiles
  backgroundCalls: BackgroundCalls
  providerStates: ProviderStates
  clock: () => number
}

/** Converts forms to JSON bodies, for the operations below /v1 that take both. */
export const v1Forms = { createImageEdit: editForm }

export type V1Operations = ReturnType<typeof v1Operations>

/** The handlers of the operations below /v1. */
export function v1Operations(options: Options) {
  const makers = { createImage: createImage(options), createResponse: createResponse(options) }
  return {
    ...makers,
    setSandboxState: setSandboxState(options, makers),
    createImageEdit: createImageEdit(options),
    createChatCompletion: createChatCompletion(options),
    compactResponse: compactResponse(options),
    countResponseTokens: countResponseTokens(options),
    createMessage: createMessage(options),
    countMessageTokens: countMessageTokens(options),
    createEmbedding: createEmbedding(options),
    createModeration: createModeration(options),
    quotePrice: quotePrice(options),
    listModels: listModels(options),
    retrieveModel: retrieveModel(options),
    retrieveImageFile: retrieveImageFile(options),
    retrieveResponse: retrieveResponse(options),
    deleteResponse: deleteResponse(options),
    cancelResponse: cancelResponse(options),
    listResponseInputItems: listResponseInputItems(options),
    listImageJobs: listImageJobs(options),
    retrieveImageJob: retrieveImageJob(options),
    cancelImageJob: cancelImageJob(options),
    deleteImageJob: deleteImageJob(options),
    streamImageJob: streamImageJob(options),
  } satisfies Partial<Operations>
}

/** The model of OpenAI's API for a request that names none. */
const standardModel = 'omni-moderation-latest'

/** POST /v1/moderations */
function createModeration({ gateway }: Options): Operation<'createModeration'> {
  return async (call) => {
    const { model = standardModel, input } = restoreBase64(call.body, call.texts, call.memory)
    const { result, receipt } = await gateway.moderate(
      { request: { model, input }, models: [gateway.find(model, call.caller)] },
      contextOf(call, 'moderations'),
    )
    const json: components['schemas']['ModerationList'] = {
      id: `modr-${call.requestId.slice(call.requestId.indexOf('_') + 1)}`,
      model: receipt.model.row.id,
      results: [...result.results],
      ...(receipt.warnings.length > 0 ? { warnings: [...receipt.warnings] } : {}),
    }
    return { status: 200, headers: receiptHeaders(receipt), json }
  }
}
