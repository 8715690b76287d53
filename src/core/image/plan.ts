import { isMembers } from '../any-json.ts'
import { GatewayError } from '../error.ts'
import { prune } from '../prune.ts'
import { dropped, type ImageAbilities, type Model, type Warning } from '../model.ts'
import type {
  ImageRequest,
  DescribedImages,
  ImageFormat,
  ImagePlan,
  FullImageRequest,
  SentSettings,
} from './image.ts'
import { planPrompt } from './plan-prompt.ts'
import { planSize, readPixels } from './size.ts'
import { counted } from '../words/counted.ts'

/** The input pictures of a request, the parameter that holds them, and the partial images to send. */
type InputCount = {
  count: number
  partialImages?: number | undefined
  param: string
  /** How many of them the user's last message has; the others may be left out. All when absent. */
  newCount?: number | undefined
  hasMask?: boolean
}

/** The model of the plan. */
type Subject = {
  id: string
  abilities: ImageAbilities
  can: (capability: string) => boolean
  /** Whether the abilities are unknown: settings are then passed on without a check. */
  isOpen: boolean
}

/**
 * Plans a request for a model (docs/behaviour.md#images). A size that needs scaling or cropping, and a
 * setting that the model lacks and that is dropped, give a warning. An impossible value throws a GatewayError
 * that names the possible values. `unlisted` describes a model without a row.
 */
export function planImage(
  request: ImageRequest,
  model: Model,
  inputs: InputCount,
  unlisted?: DescribedImages,
): { plan: ImagePlan; warnings: Warning[] } {
  const warnings: Warning[] = []
  const { row, undescribed } = model
  const { image, capabilities } = undescribed && unlisted !== undefined ? unlisted : row
  const described: Subject = {
    id: row.id,
    abilities: image ?? anyPicture,
    can: (capability) => capabilities[capability] === true,
    isOpen: undescribed && unlisted === undefined,
  }
  const isVector = asksForVector(request, described)
  const isSingle = isVector && described.abilities.single_svg === true
  const subject = isSingle ? withoutPictures(described) : described
  const { abilities, id } = subject
  const sizes = abilities.edits_without_size && inputs.count > 0 ? sizeOfInput : abilities.size
  const plan: ImagePlan = {
    ...planSize(request, { rule: sizes, model: id, isVector }, warnings),
    ...(isSingle ? { isSingle } : {}),
    ...planReferences(inputs, subject, warnings),
    ...planPrompt(request, subject, warnings),
    ...(request.size?.includes('x') && !isVector
      ? { requestedPixels: readPixels(request.size) }
      : {}),
    ...planQuality(request, subject, warnings),
    ...planFormat(request, subject, warnings),
    ...planBackground(request, subject),
    ...planSettings(request, subject, warnings),
    ...planOptions(request, subject, inputs, warnings),
    ...planPartials(inputs, subject, warnings),
  }
  return { plan, warnings }
}

const sizeOfInput: ImageAbilities['size'] = { kind: 'none' }

/**
 * Whether a request is for a vector picture. Throws a GatewayError if the model makes none, or nothing else: vector
 * pictures and pixels are not converted to each other.
 */
function asksForVector(
  { outputFormat }: ImageRequest,
  { id, abilities, isOpen }: Subject,
): boolean {
  const { native_format: native, output_formats: formats = [] } = abilities
  const makesOnlyVectors = native === 'svg'
  if ((outputFormat ?? native) === 'svg') {
    if (makesOnlyVectors || isOpen || formats.includes('svg')) return true
    const text = `${id} makes no vector pictures (SVG). Choose an output_format of png, jpeg or webp, or a model that has svg in its output_formats.`
    throw new GatewayError('model_capability_mismatch', text, { param: 'output_format' })
  }
  if (!makesOnlyVectors) return false
  const text = `${id} makes vector pictures (SVG), which are not converted to ${outputFormat}. Leave output_format out, or choose a model without vectors.`
  throw new GatewayError('model_capability_mismatch', text, { param: 'output_format' })
}

/** A model that makes its vector pictures one per call, from a text alone. */
function withoutPictures({ abilities, ...subject }: Subject): Subject {
  const { partial_images: _, ...others } = abilities
  const id = `${subject.id} with output_format svg`
  return { ...subject, id, abilities: { ...others, reference_images_max: 0 } }
}

/** The request with the prompt and the input pictures that are planned for a model. */
export function requestFor(request: FullImageRequest, plan: ImagePlan): FullImageRequest {
  const { prompt, sources } = request
  const { prompt: planned = prompt, sources: most = sources.length } = plan
  return { ...request, prompt: planned, sources: sources.slice(sources.length - most) }
}

/** Abilities of a model without a description: settings are passed on without a check. */
const anyPicture: ImageAbilities = {
  size: { kind: 'free' },
  images_per_call_max: 1,
  reference_images_min: 0,
  reference_images_max: 16,
}

/** Leaves out the oldest pictures of a conversation that are too many. Throws a GatewayError for others. */
function planReferences(
  { count, param, newCount = count, hasMask }: InputCount,
  { id, abilities }: Subject,
  warnings: Warning[],
): Pick<ImagePlan, 'sources'> {
  const { reference_images_min: least, reference_images_max: most } = abilities
  const inputs = most === 0 ? 'no input images' : `at most ${counted(most, 'input image')}`
  const takes = `${id} takes ${inputs}`
  if (hasMask && !abilities.options?.includes('mask')) {
    const text = `${id} takes no mask. Leave it out, or choose a model with 'image_config.mask' in its parameters.`
    throw new GatewayError('model_capability_mismatch', text, { param: 'mask' })
  }
  if (newCount > most) {
    const message = most === 0 ? `${takes}. Choose a model that edits images.` : `${takes}.`
    const toolMessage = `${message} list-image-models shows how many input images each model takes.`
    throw new GatewayError('model_capability_mismatch', message, { param, toolMessage })
  }
  if (count < least) {
    throw new GatewayError('model_capability_mismatch', `${id} needs an input image.`, { param })
  }
  if (count <= most) return {}
  const reason = `${takes}, so the oldest ${count - most} of the conversation are left out.`
  const [requested, applied] = [counted(count, 'image'), counted(most, 'image')]
  warnings.push({ param, requested, applied, reason })
  return { sources: most }
}

function planQuality(
  { quality }: ImageRequest,
  { id, abilities: { qualities }, isOpen }: Subject,
  warnings: Warning[],
): Pick<ImagePlan, 'quality'> {
  if (quality === undefined) return {}
  if (isOpen || qualities?.includes(quality)) return { quality }
  if (quality === 'auto') return {}
  if (qualities !== undefined && qualities.length > 0) {
    const text = `${id} has no quality '${quality}'. It has: ${qualities.join(', ')}.`
    throw new GatewayError('invalid_value', text, { param: 'quality' })
  }
  warnings.push(dropped('quality', quality, `${id} has no quality setting.`))
  return {}
}

function planFormat(
  request: ImageRequest,
  subject: Subject,
  warnings: Warning[],
): Pick<
  ImagePlan,
  'vendorFormat' | 'targetFormat' | 'mayBeSvg' | 'compression' | 'vendorCompresses'
> {
  const { outputFormat, outputCompression } = request
  const { abilities } = subject
  const isVector = (outputFormat ?? abilities.native_format) === 'svg'
  const vendorMakes =
    abilities.output_formats?.includes(String(outputFormat)) || (subject.isOpen && isVector)
  checkTransparency(request, outputFormat ?? abilities.native_format, subject)
  const vendorFormat = vendorMakes ? outputFormat : undefined
  const formats = {
    ...prune({ vendorFormat, targetFormat: isVector ? ('svg' as const) : outputFormat }),
    ...(subject.isOpen && outputFormat === undefined ? { mayBeSvg: true as const } : {}),
  }
  if (outputCompression === undefined) return formats
  if (outputFormat !== 'jpeg' && outputFormat !== 'webp') {
    const reason = 'Compression needs an output_format of jpeg or webp.'
    warnings.push(dropped('output_compression', outputCompression, reason))
    return formats
  }
  const compresses = vendorFormat !== undefined && abilities.output_compression === true
  const compression = { compression: outputCompression }
  return { ...formats, ...compression, ...(compresses ? { vendorCompresses: true } : {}) }
}

function checkTransparency(
  { background }: ImageRequest,
  format: ImageFormat | undefined,
  { id, can, isOpen }: Subject,
): void {
  if (background !== 'transparent') return
  if (!isOpen && !can('transparency')) {
    const remedy = 'Choose opaque or auto, or another model.'
    const text = `${id} cannot make a transparent background. ${remedy}`
    throw new GatewayError('model_capability_mismatch', text, { param: 'background' })
  }
  if (format === 'jpeg') {
    const text =
      'A JPEG cannot have a transparent background. Choose an output_format of png or webp.'
    throw new GatewayError('invalid_value', text, { param: 'background' })
  }
}

/** A model without a background setting makes opaque pictures, so `opaque` and `auto` are not sent. */
function planBackground(
  { background }: ImageRequest,
  { can, isOpen }: Subject,
): Pick<ImagePlan, 'background'> {
  return background !== undefined && (isOpen || can('transparency')) ? { background } : {}
}

/** `standard` is what a model without the setting does, so that it gives no warning. */
type Setting = [
  words: string,
  isTaken: (subject: Subject, value: unknown) => boolean | undefined,
  standard?: string,
]

const settings: Record<keyof SentSettings, Setting> = {
  seed: ['seed setting', ({ can }) => can('seed')],
  // OpenAI's default, which clients send even if the user chose no style.
  style: ['style setting', () => false, 'vivid'],
  moderation: ['moderation setting', ({ abilities }) => abilities.moderation, 'auto'],
  complexity: ['complexity setting', ({ abilities }) => abilities.complexity],
  user: ['parameter for the end user', ({ abilities }) => abilities.end_user],
  safetyIdentifier: ['safety identifier', ({ abilities }) => abilities.safety_identifier],
  inputFidelity: [
    'input fidelity setting',
    ({ abilities }, value) => abilities.input_fidelities?.includes(String(value)),
  ],
}

function planSettings(
  request: ImageRequest,
  subject: Subject,
  warnings: Warning[],
): Partial<SentSettings> {
  const taken: Record<string, unknown> = {}
  for (const [name, [words, isTaken, standard]] of Object.entries(settings)) {
    const value = request[name as keyof SentSettings]
    if (value === undefined) continue
    if (subject.isOpen || isTaken(subject, value)) taken[name] = value
    else if (value !== standard) {
      const param = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
      warnings.push(dropped(param, value, `${subject.id} has no ${words}.`))
    }
  }
  return taken
}

/** Of an option with members, a row names those that its model takes. */
function planOptions(
  { options = {} }: ImageRequest,
  { id, abilities, isOpen }: Subject,
  { count }: InputCount,
  warnings: Warning[],
): Pick<ImagePlan, 'options'> {
  const { options: named = [], edit_options: ofEdits = [] } = abilities
  const taken = (all: object, prefix = ''): object | undefined => {
    const kept = Object.entries(all).flatMap(([member, value]): [string, unknown][] => {
      const name = prefix + member
      const hasMembers = named.some((one) => one.startsWith(`${name}.`))
      const isTaken = isOpen || named.includes(name) || (count > 0 && ofEdits.includes(name))
      if (hasMembers && isMembers(value)) {
        const members = taken(value, `${name}.`)
        return members === undefined ? [] : [[member, members]]
      }
      if (isTaken) return [[member, value]]
      const where = ofEdits.includes(name) ? ' without an input image' : ''
      warnings.push(dropped(name, value, `${id} has no option '${name}'${where}.`))
      return []
    })
    return kept.length === 0 ? undefined : Object.fromEntries(kept)
  }
  return prune({ options: taken(options) as ImagePlan['options'] })
}

function planPartials(
  { partialImages = 0 }: InputCount,
  { id, abilities, isOpen }: Subject,
  warnings: Warning[],
): Pick<ImagePlan, 'partialImages'> {
  if (partialImages === 0) return {}
  if (isOpen || abilities.partial_images === true) return { partialImages }
  warnings.push(dropped('partial_images', partialImages, `${id} makes no partial images.`))
  return {}
}
