import type { components } from '../../generated/types.ts'
import { requestParameters, type RequestParameter } from '../../generated/request-parameters.ts'
import type { ChatRequest } from '../core/chat/chat.ts'
import { GatewayError } from '../core/error.ts'
import { readPixels } from '../core/image/size.ts'
import {
  makesImages,
  type CatalogModel,
  type ImageAbilities,
  type Model,
  type Target,
  type VendorFacts,
  type Warning,
} from '../core/model.ts'

type Parameter = components['schemas']['ModelParameter']
/** A parameter of one model without its name. */
type Offered = Omit<Parameter, 'name'>

/** How the vendors treat request parameters. */
type ParameterRules = {
  factsOf(providerId: string): VendorFacts
  /** Translates a chat request for a route: warnings of dropped parameters, and problems. */
  writeChat(
    request: ChatRequest,
    target: Target,
  ): { warnings: readonly Warning[]; problems: readonly unknown[] }
}

/** The parameters that a model accepts on its first route, with their values and bounds. */
export type ParametersOf = (target: Target) => Parameter[]

/** Parameters of models. Cached per model, since they depend only on the settings and the catalog. */
export function createParameters(rules: ParameterRules): ParametersOf {
  const cached = new Map<string, Parameter[]>()
  const find = (target: Target): Parameter[] => {
    const { embedding } = target.model.row
    if (embedding !== undefined) return embeddingParameters(embedding)
    return makesImages(target.model)
      ? imageParameters(target.model, rules)
      : chatParameters(target, rules)
  }
  return (target) => {
    const { row, undescribed } = target.model
    if (undescribed) return []
    const parameters = cached.get(row.id) ?? find(target)
    cached.set(row.id, parameters)
    return parameters
  }
}

/** A sample value per parameter; a vendor that drops the sample does not support the parameter. */
const samples: Readonly<Partial<Record<keyof ChatRequest, unknown>>> = {
  temperature: 0.7,
  top_p: 0.5,
  max_completion_tokens: 1000,
  n: 2,
  stop: ['x'],
  seed: 1,
  presence_penalty: 0.5,
  frequency_penalty: 0.5,
  logit_bias: { '1': 1 },
  logprobs: true,
  response_format: { type: 'json_object' },
  tools: [{ type: 'function', function: { name: 'x', parameters: { type: 'object' } } }],
  reasoning_effort: 'medium',
  stream: true,
  user: 'x',
}

function chatParameters(target: Target, { writeChat }: ParameterRules): Parameter[] {
  const { row } = target.model
  const messages: ChatRequest['messages'] = [{ role: 'user', content: 'x' }]
  const takes = (name: string, value: unknown): boolean => {
    try {
      const request = { model: row.id, messages, [name]: value }
      const { warnings, problems } = writeChat(request, target)
      const isDropped = warnings.some(({ param, applied }) => {
        return applied === null && (param === name || param.startsWith(`${name}[`))
      })
      return !isDropped && problems.length === 0
    } catch (error) {
      if (error instanceof GatewayError) return false
      throw error
    }
  }
  return Object.entries(samples)
    .filter(([name]) => isAble(row, name))
    .filter(([name, value]) => takes(name, value))
    .map(([name]) => ({ name, ...requestParameters.chat[name], ...ownBounds(row, name) }))
}

/** Whether the model has the capability that a parameter needs. */
function isAble({ capabilities }: CatalogModel, name: string): boolean {
  if (name === 'tools') return capabilities.tools
  if (name === 'stream') return capabilities.streaming
  if (name === 'reasoning_effort') return capabilities.reasoning
  return true
}

function ownBounds(row: CatalogModel, name: string): RequestParameter {
  if (name === 'temperature') return defined({ maximum: row.temperature_max })
  if (name === 'max_completion_tokens') return defined({ maximum: row.max_output_tokens })
  return name === 'reasoning_effort' ? defined({ values: row.chat?.efforts }) : {}
}

type ParameterDraft = { [Name in keyof RequestParameter]: RequestParameter[Name] | undefined }

function defined(draft: ParameterDraft): RequestParameter {
  return Object.fromEntries(Object.entries(draft).filter(([, value]) => value !== undefined))
}

function embeddingParameters({
  dimensions_min: minimum = 1,
  dimensions_max: maximum,
  dimension_choices: choices,
  end_user: endUser,
}: NonNullable<CatalogModel['embedding']>): Parameter[] {
  const bounds = requestParameters.embedding
  const lengths = choices === undefined ? { minimum, maximum } : { values: choices.map(String) }
  const isVariable = choices !== undefined || maximum !== undefined
  return [
    { name: 'encoding_format', ...bounds['encoding_format'] },
    ...(isVariable ? [{ name: 'dimensions', ...defined(lengths) }] : []),
    ...(endUser ? [{ name: 'user', ...bounds['user'] }] : []),
  ]
}

function imageParameters({ row }: Model, { factsOf }: ParameterRules): Parameter[] {
  const { image, capabilities } = row
  if (image === undefined) return []
  const { size, reference_images_min: least, reference_images_max: most } = image
  const listed = (values: string[] | undefined) => values !== undefined && { values }
  // The value false stands for a parameter that the model does not support.
  const own: Record<string, Offered | false> = {
    n: {},
    stream: {},
    partial_images: image.partial_images === true && {},
    images: most > 0 && { minimum: least, maximum: most },
    size: size.kind !== 'none' && pixelSizesIn(size),
    quality: listed(image.qualities),
    output_format: { values: formatsOf(image) },
    output_compression: {},
    background: capabilities['transparency'] === true && {},
    input_fidelity: listed(image.input_fidelities),
    moderation: image.moderation === true && {},
    complexity: image.complexity === true && {},
    user: image.end_user === true && {},
    safety_identifier: image.safety_identifier === true && {},
  }
  const config = requestParameters.image_config[factsOf(row.provider).imageConfig]!
  const ownConfig: Record<string, RequestParameter | false> = {
    aspect_ratio: 'aspect_ratio' in config && listed(size.aspect_ratios),
    image_size:
      'image_size' in config && size.kind !== 'none' && sizesIn(size, config['image_size']),
    seed: 'seed' in config && capabilities['seed'] === true && {},
    ...Object.fromEntries(
      [...(image.options ?? []), ...(image.edit_options ?? [])].map((name) => [name, {}]),
    ),
  }
  const describe = (bounds: Readonly<Record<string, RequestParameter>>, prefix = '') => {
    return ([name, given]: [string, Offered | false]): Parameter[] =>
      given === false ? [] : [{ name: prefix + name, ...bounds[name], ...given }]
  }
  return [
    ...Object.entries(own).flatMap(describe(requestParameters.image)),
    ...Object.entries(ownConfig).flatMap(describe(config, 'image_config.')),
  ]
}

/** All formats that can be requested: pixels are converted, vectors are not. */
function formatsOf({ native_format: native, output_formats: made = [] }: ImageAbilities): string[] {
  if (native === 'svg') return [native]
  const { values = [] } = requestParameters.image['output_format']!
  return values.filter((format) => format !== 'svg' || made.includes(format))
}

/** Sizes in pixels that a client may offer besides those that the vendor recommends. */
const usualSizes = ['1024x1024', '1536x1024', '1024x1536', '2048x2048', '4096x4096']

function pixelSizesIn(rule: ImageAbilities['size']): Offered {
  const { kind, sizes = [], aspect_ratio_pixels: ofRatios = {} } = rule
  if (kind === 'list') return { values: sizes }
  if (kind === 'classes') return { examples: Object.values(ofRatios) }
  return { examples: [...new Set([...sizes, ...usualSizes.filter((size) => fits(size, rule))])] }
}

function fits(
  size: string,
  { side_max: most = Infinity, side_min: least = 0, ...rule }: ImageAbilities['size'],
): boolean {
  const { width, height } = readPixels(size)
  const pixels = width * height
  const isWithin = pixels <= (rule.pixels_max ?? Infinity) && pixels >= (rule.pixels_min ?? 0)
  return isWithin && Math.max(width, height) <= most && Math.min(width, height) >= least
}

/** The sizes of `image_config`, of which the contract may list the classes. */
function sizesIn(
  { size_classes: classes, sizes, kind }: ImageAbilities['size'],
  { values: known }: RequestParameter,
): RequestParameter {
  if (kind === 'list') return defined({ values: sizes })
  if (kind !== 'classes') return {}
  return defined({ values: classes?.filter((one) => known?.includes(one) ?? true) })
}
