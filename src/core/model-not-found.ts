import { GatewayError } from './error.ts'

const shownLengthMax = 200

/** No model has this name, as far as is known; the caller is told one that is nearly it. */
export class ModelNotFound extends GatewayError {
  readonly asked: string

  constructor(asked: string, near?: string, param = 'model') {
    const meant = near === undefined ? '' : ` Did you mean '${near}'?`
    const shown = asked.slice(0, shownLengthMax)
    super(
      'model_not_found',
      `There is no model '${shown}'.${meant} GET /v1/models lists the models.`,
      { param },
    )
    this.asked = asked
  }
}
