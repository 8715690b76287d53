import type { Gateway } from '../core/gateway.ts'
import type { ReadSources } from '../core/image/image.ts'
import { checkReferences } from '../core/image/plan.ts'
import type { Catalog } from '../core/model.ts'
import { contextOf, type Operation } from '../http/operation.ts'
import { imagesAnswer } from './image-answer.ts'
import { imageRequest } from './image-request.ts'

type Options = {
  gateway: Gateway
  catalog: Pick<Catalog, 'find'>
  readSources: ReadSources
  clock: () => number
}

/** POST /v1/images/edits */
export function createImageEdit(options: Options): Operation<'createImageEdit'> {
  const { gateway, catalog, readSources, clock } = options
  return async (call) => {
    const { images, ...body } = call.body
    // What no model would take is not fetched either.
    checkReferences(catalog.find(body.model).model, images.length, 'images')
    const addresses = images.map(({ image_url: address }, index) => ({
      address,
      param: `images[${index}].image_url`,
    }))
    const read = () => readSources(addresses, call.ending.signal, call.texts)
    const answered = await gateway.image(imageRequest(body), contextOf(call, 'images'), read)
    return imagesAnswer(answered, clock())
  }
}
