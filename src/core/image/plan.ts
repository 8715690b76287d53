import { GatewayError } from '../error.ts'
import { dropped, type ImageAbilities, type Model, type Warning } from '../model.ts'
import type { AskedImage, ImageFormat, ImagePlan } from './image.ts'
import { planSize, readPixels } from './size.ts'

/**
 * Plans a request for a model (docs/behaviour.md#images). A size that needs scaling or cropping,
 * and a setting that the model lacks and that is dropped, give a warning. A value that cannot work
 * throws a GatewayError that names the values that do.
 */
export function planImage(
  request: AskedImage,
  model: Model,
  inputs: { count: number; param: string },
): { plan: ImagePlan; warnings: Warning[] } {
  const warnings: Warning[] = []
  const abilities = model.row.image ?? anyPicture
  const size = planSize(request, abilities.size, model.row.id, warnings)
  checkReferences(model, inputs.count, inputs.param)
  const plan: ImagePlan = {
    ...size,
    ...(request.size?.includes('x') ? { askedPixels: readPixels(request.size) } : {}),
    ...planQuality(request, abilities, model, warnings),
    ...planFormat(request, abilities, model, warnings),
    ...planSeed(request, model, warnings),
    ...planStyle(request, model, warnings),
    ...planUser(request, abilities, model, warnings),
  }
  checkPrompt(request, abilities, model, warnings)
  const { inputFidelity } = request
  if (inputFidelity !== undefined && !takesFidelity(model, inputFidelity)) {
    const reason = `${model.row.id} chooses the fidelity itself.`
    warnings.push(dropped('input_fidelity', inputFidelity, reason))
  } else if (inputFidelity !== undefined) plan.inputFidelity = inputFidelity
  return { plan, warnings }
}

function takesFidelity({ row, undescribed }: Model, fidelity: string): boolean {
  return undescribed || (row.image?.input_fidelities ?? []).includes(fidelity)
}

/** For a model that the catalog does not describe: everything is left to it. */
const anyPicture: ImageAbilities = {
  size: { kind: 'free' },
  images_per_call_max: 1,
  reference_images_min: 0,
  reference_images_max: 16,
}

/** Throws a GatewayError unless the model takes this many input images. */
function checkReferences({ row }: Model, count: number, param: string): void {
  const { id, image = anyPicture } = row
  const { reference_images_min: least, reference_images_max: most } = image
  if (count > most) {
    throw new GatewayError(
      'model_capability_mismatch',
      most === 0
        ? `${id} takes no input images. Choose a model that edits images.`
        : `${id} takes at most ${most} input images.`,
      { param },
    )
  }
  if (count < least) {
    throw new GatewayError('model_capability_mismatch', `${id} needs an input image.`, { param })
  }
}

function planQuality(
  { quality }: AskedImage,
  { qualities }: ImageAbilities,
  model: Model,
  warnings: Warning[],
): Pick<ImagePlan, 'quality'> {
  if (quality === undefined) return {}
  if (model.undescribed || qualities?.includes(quality)) return { quality }
  if (quality === 'auto') return {}
  if (qualities !== undefined && qualities.length > 0) {
    throw new GatewayError(
      'invalid_value',
      `${model.row.id} has no quality '${quality}'. It has: ${qualities.join(', ')}.`,
      { param: 'quality' },
    )
  }
  warnings.push(dropped('quality', quality, `${model.row.id} has no quality setting.`))
  return {}
}

function planFormat(
  request: AskedImage,
  abilities: ImageAbilities,
  model: Model,
  warnings: Warning[],
): Pick<ImagePlan, 'vendorFormat' | 'targetFormat' | 'compression' | 'vendorCompresses'> {
  const { outputFormat, outputCompression, background } = request
  const vendorMakes = outputFormat !== undefined && abilities.output_formats?.includes(outputFormat)
  const format = outputFormat ?? abilities.native_format
  checkBackground(background, format, model)
  const asked = {
    ...(vendorMakes ? { vendorFormat: outputFormat } : {}),
    ...(outputFormat === undefined ? {} : { targetFormat: outputFormat }),
  }
  if (outputCompression === undefined) return asked
  if (outputFormat === undefined || outputFormat === 'png') {
    const reason = 'output_compression needs an output_format of jpeg or webp.'
    warnings.push(dropped('output_compression', outputCompression, reason))
    return asked
  }
  const compresses = asked.vendorFormat !== undefined && abilities.output_compression === true
  return {
    ...asked,
    compression: outputCompression,
    ...(compresses ? { vendorCompresses: true } : {}),
  }
}

function checkBackground(
  background: AskedImage['background'],
  format: ImageFormat | undefined,
  model: Model,
): void {
  if (background !== 'transparent') return
  if (format === 'jpeg') {
    throw new GatewayError(
      'invalid_value',
      'A JPEG has no transparent background. Choose an output_format of png or webp.',
      { param: 'background' },
    )
  }
  if (!model.undescribed && model.row.capabilities['transparency'] !== true) {
    throw new GatewayError(
      'model_capability_mismatch',
      `${model.row.id} makes no transparent background. Choose opaque or auto, or another model.`,
      { param: 'background' },
    )
  }
}

function planSeed(
  { seed }: AskedImage,
  model: Model,
  warnings: Warning[],
): Pick<ImagePlan, 'seed'> {
  if (seed === undefined) return {}
  if (model.undescribed || model.row.capabilities['seed'] === true) return { seed }
  warnings.push(dropped('seed', seed, `${model.row.id} takes no seed.`))
  return {}
}

function planStyle(
  { style }: AskedImage,
  model: Model,
  warnings: Warning[],
): Pick<ImagePlan, 'style'> {
  if (style === undefined) return {}
  if (model.undescribed) return { style }
  // OpenAI's default, which clients send unasked.
  if (style === 'vivid') return {}
  warnings.push(dropped('style', style, `${model.row.id} has no styles.`))
  return {}
}

function planUser(
  { user }: AskedImage,
  { end_user: told }: ImageAbilities,
  model: Model,
  warnings: Warning[],
): Pick<ImagePlan, 'user'> {
  if (user === undefined) return {}
  if (model.undescribed || told === true) return { user }
  warnings.push(dropped('user', user, `${model.row.id} is not told who a picture is for.`))
  return {}
}

function checkPrompt(
  { prompt }: AskedImage,
  { prompt_characters_max: most = Infinity }: ImageAbilities,
  { row }: Model,
  warnings: Warning[],
): void {
  const characters = prompt.length
  if (characters <= most) return
  warnings.push({
    param: 'prompt',
    requested: `${characters} characters`,
    applied: `${most} characters`,
    reason: `${row.id} reads the first ${most} characters of a prompt.`,
  })
}
