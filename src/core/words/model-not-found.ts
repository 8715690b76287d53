import { GatewayError } from '../error.ts'
import type { Model } from '../model.ts'

const shownLengthMax = 200

/** No model has this name; the message suggests a similar name. */
export class ModelNotFound extends GatewayError {
  readonly modelName: string

  constructor(modelName: string, near?: string, param = 'model') {
    const meant = near === undefined ? '' : ` Did you mean '${near}'?`
    const text = `There is no model '${modelName.slice(0, shownLengthMax)}'.${meant}`
    super('model_not_found', `${text} GET /v1/models lists the models.`, {
      param,
      toolMessage: `${text} list-models lists the models, and list-image-models lists image models.`,
    })
    this.modelName = modelName
  }
}

/** Several providers have a model of this name; the message lists the models that the key may use. */
export class AmbiguousModel extends GatewayError {
  readonly modelName: string
  readonly candidates: readonly Model[]

  constructor(modelName: string, candidates: readonly Model[], param = 'model') {
    const ids = candidates.map(({ row }) => `'${row.id}'`).join(', ')
    const message = `Several providers have a model '${modelName}'. Choose one: ${ids}.`
    super('model_not_found', message, { param })
    this.modelName = modelName
    this.candidates = candidates
  }
}
