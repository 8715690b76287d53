import { GatewayError } from '../core/error.ts'
import { modalityOf, type Model } from '../core/model.ts'

/** Throws a GatewayError unless all fallback models produce the same modality as `model`. */
export function checkFallbacks(
  names: readonly string[],
  makesPictures: boolean,
  peek: (name: string) => Model | undefined,
): void {
  for (const [index, name] of names.entries()) {
    const model = peek(name)
    if (model === undefined || model.undescribed) continue
    const made = modalityOf(model)
    if (made === (makesPictures ? 'image' : 'chat')) continue
    const message = makesPictures
      ? `${model.row.id} makes no images. Fallbacks of an image model must be image models.`
      : `${model.row.id} makes ${made}s. Fallbacks of a language model must be language models.`
    throw new GatewayError('invalid_value', message, { param: `models[${index}]` })
  }
}
