import type { Catalog } from '../catalog/catalog.ts'
import type { RouteTable } from '../catalog/routes.ts'
import type { Gateway } from '../core/gateway.ts'
import type { Operations } from '../http/contract-router.ts'
import { createChatCompletion } from './create-chat-completion.ts'
import { createImageEdit } from './create-image-edit.ts'
import { createImage } from './create-image.ts'
import { listModels, retrieveModel } from './list-models.ts'

type Options = { gateway: Gateway; catalog: Catalog; routes: RouteTable; clock: () => number }

/** The operations below /v1. */
export function v1Operations(
  options: Options,
): Pick<
  Operations,
  'createImage' | 'createImageEdit' | 'createChatCompletion' | 'listModels' | 'retrieveModel'
> {
  return {
    createImage: createImage(options.gateway, options.clock),
    createImageEdit: createImageEdit(),
    createChatCompletion: createChatCompletion(options),
    listModels: listModels(options),
    retrieveModel: retrieveModel(options),
  }
}
