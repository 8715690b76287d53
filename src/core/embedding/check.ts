import { dropped, makesEmbeddings, makesImages, type Model, type Problem } from '../model.ts'
import { noAdapter, type Readiness, type Route } from '../route.ts'
import { areTokens, type EmbeddingRequest } from './embedding.ts'

/** A generous upper bound: no tokenizer averages more characters per token on real text. */
const charactersPerTokenMax = 10

/** The problems and adjustments of a request on a route. */
export function checkEmbedding(request: EmbeddingRequest, route: Route): Readiness {
  const { model, provider } = route
  const problem = kindProblem(model)
  if (problem !== undefined) return { problems: [problem], warnings: [] }
  if (provider.embedding === undefined) {
    return { problems: [noAdapter(route, 'embeddings')], warnings: [] }
  }
  const { user } = request
  const { id } = model.row
  const isDropped = user !== undefined && !takesUser(route)
  return {
    problems: [
      ...tokenProblems(request, route),
      ...lengthProblems(request, model),
      ...dimensionProblems(request, route),
    ],
    warnings: isDropped ? [dropped('user', user, `${id} has no parameter for the end user.`)] : [],
  }
}

/** Whether the vendor receives `user`. */
export function takesUser({ model, provider }: Route): boolean {
  if (provider.embedding?.takes.user !== true) return false
  return model.undescribed || model.row.embedding?.end_user === true
}

/** The length of the vectors to request from the vendor; undefined when the model has only one. */
export function dimensionsFor(
  { dimensions }: Pick<EmbeddingRequest, 'dimensions'>,
  { row: { embedding }, undescribed }: Model,
): number | undefined {
  return undescribed || isVariable(embedding) ? dimensions : undefined
}

function kindProblem(model: Model): Problem | undefined {
  if (model.undescribed || makesEmbeddings(model)) return undefined
  const { id } = model.row
  const [kind, path, tool] = makesImages(model)
    ? ['an image model', '/v1/images/generations', 'generate-image']
    : ['a language model', '/v1/chat/completions', 'chat']
  const text = `${id} is ${kind} and makes no embeddings.`
  return {
    param: 'model',
    message: `${text} Choose an embedding model, or use ${path}.`,
    toolMessage: `${text} Use the tool ${tool}.`,
  }
}

function tokenProblems({ inputs }: EmbeddingRequest, { model, provider }: Route): Problem[] {
  const { row, undescribed } = model
  const isAble = undescribed || row.embedding?.token_arrays === true
  if (!areTokens(inputs) || (isAble && provider.embedding?.takes.tokens === true)) return []
  const message = `${row.id} does not take tokens, since its tokens are not public. Send texts.`
  return [{ param: 'input', message }]
}

/** The first input that is longer than the model reads. */
function lengthProblems({ inputs }: EmbeddingRequest, { row, undescribed }: Model): Problem[] {
  const { id, context_window: window } = row
  if (window === undefined || undescribed || row.doubtful?.includes('context_window')) return []
  const factor = areTokens(inputs) ? 1 : charactersPerTokenMax
  const index = inputs.findIndex(({ length }) => length > window * factor)
  if (index < 0) return []
  const message = `This input is longer than the ${window} tokens that ${id} reads. Split it.`
  return [{ param: `input[${index}]`, message, code: 'context_length_exceeded' }]
}

function isVariable(embedding: Model['row']['embedding']): boolean {
  return embedding?.dimension_choices !== undefined || embedding?.dimensions_max !== undefined
}

function dimensionProblems(
  { dimensions }: EmbeddingRequest,
  { model, provider }: Route,
): Problem[] {
  const { id, embedding } = model.row
  if (dimensions === undefined) return []
  const problem = (code: Problem['code'], message: string) => [
    { param: 'dimensions', message, code },
  ]
  if (embedding === undefined) {
    if (provider.embedding?.takes.dimensions === true) return []
    const text = `${provider.id} has no parameter for the length of vectors. Leave 'dimensions' out.`
    return problem('unsupported_parameter', text)
  }
  const { dimensions: usual, dimension_choices: choices } = embedding
  const { dimensions_min: least = 1, dimensions_max: most = usual } = embedding
  if (!isVariable(embedding)) {
    if (dimensions === usual) return []
    const text = `The vectors of ${id} always have ${usual} dimensions. Leave 'dimensions' out.`
    return problem('unsupported_parameter', text)
  }
  if (choices?.includes(dimensions) ?? (dimensions >= least && dimensions <= most)) return []
  const works = choices ? `one of: ${choices.join(', ')}` : `from ${least} to ${most}`
  return problem('invalid_value', `'dimensions' of ${id} must be ${works}; it is ${dimensions}.`)
}
