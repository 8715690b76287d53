import type { components } from '../../generated/types.ts'
import { requestParameters, type RequestParameter } from '../../generated/request-parameters.ts'
import type { ChatRequest } from '../core/chat/chat.ts'
import { GatewayError } from '../core/error.ts'
import {
  makesImages,
  type CatalogModel,
  type Model,
  type Target,
  type VendorFacts,
  type Warning,
} from '../core/model.ts'

type Parameter = components['schemas']['ModelParameter']

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
  const own: Record<string, RequestParameter | false> = {
    n: {},
    stream: {},
    partial_images: image.partial_images === true && {},
    images: most > 0 && { minimum: least, maximum: most },
    size: size.kind !== 'none' && (size.kind === 'list' ? defined({ values: size.sizes }) : {}),
    quality: listed(image.qualities),
    output_format: {},
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
    image_size: 'image_size' in config && size.kind !== 'none' && sizesIn(size),
    seed: 'seed' in config && capabilities['seed'] === true && {},
    ...Object.fromEntries(
      [...(image.options ?? []), ...(image.edit_options ?? [])].map((name) => [name, {}]),
    ),
  }
  const describe = (bounds: Readonly<Record<string, RequestParameter>>, prefix = '') => {
    return ([name, given]: [string, RequestParameter | false]): Parameter[] =>
      given === false ? [] : [{ name: prefix + name, ...bounds[name], ...given }]
  }
  return [
    ...Object.entries(own).flatMap(describe(requestParameters.image)),
    ...Object.entries(ownConfig).flatMap(describe(config, 'image_config.')),
  ]
}

function sizesIn({
  size_classes: classes,
  sizes,
  kind,
}: NonNullable<CatalogModel['image']>['size']) {
  return defined({ values: kind === 'classes' ? classes : kind === 'list' ? sizes : undefined })
}
