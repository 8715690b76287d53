import { nearName } from '../../core/words/near-name.ts'
import { makesImages, type Catalog, type Model } from '../../core/model.ts'
import type { RouteTable } from '../../core/route.ts'
import { lifecycleText } from './results.ts'
import type { ToolHandler } from '../tool.ts'

type Options = { catalog: Pick<Catalog, 'list'>; routes: Pick<RouteTable, 'usable'> }

/** The tool `list-models`: language models, grouped by family. */
export function listModels({ catalog, routes }: Options): ToolHandler<'list-models'> {
  return async (input, { context }) => {
    const filter = {
      includeDeactivated: input.include_deactivated,
      excludeDeprecated: input.exclude_deprecated,
    }
    const { models: all } = catalog.list(
      filter,
      (model) => !makesImages(model) && writesText(model) && routes.usable(model, context.caller),
    )
    const { family, isNear } = familyIn(all, input.family)
    const found = family === undefined ? all : all.filter((model) => isOf(model, family))
    const shown = found.slice(0, input.limit)
    const families = Map.groupBy(shown, ({ row }) => row.family)
    const parts = [...families].map(
      ([name, members]) => `## ${name}\n${members.map(modelLine).join('\n')}`,
    )
    // No list of families is added for a caller that named an existing family.
    const isAnswered = shown.length === all.length || (family !== undefined && found.length > 0)
    const head = [
      ...(isNear ? [`There is no family '${input.family}'; these are models of '${family}'.`] : []),
      countLine(shown.length, found.length),
      ...(isAnswered ? [] : [familiesLine(all)]),
    ]
    return [{ type: 'text', text: ['# Language Models', head.join('\n'), ...parts].join('\n\n') }]
  }
}

function writesText({ row }: Model): boolean {
  return row.output_modalities.includes('text')
}

function isOf({ row }: Model, plain: string): boolean {
  return row.family.toLowerCase() === plain || row.provider.toLowerCase() === plain
}

/** The best match for a family or provider, in lower case; `isNear` if the matched name is only similar. */
function familyIn(
  models: readonly Model[],
  name: string | undefined,
): { family: string | undefined; isNear: boolean } {
  const plain = name?.trim().toLowerCase() ?? ''
  if (plain === '') return { family: undefined, isNear: false }
  if (models.some((model) => isOf(model, plain))) return { family: plain, isNear: false }
  const names = new Set(models.flatMap(({ row }) => [row.family, row.provider]))
  const near = nearName(plain, [...names])
  return { family: near?.toLowerCase() ?? plain, isNear: near !== undefined }
}

function countLine(shown: number, total: number): string {
  if (total === 0)
    return (
      'No model matches. Omit a filter, or ask the operator for a provider key. ' +
      'list-image-models lists the models that make pictures.'
    )
  if (shown === total) return `All ${total} models that match.`
  return `${shown} of ${total} models that match; raise 'limit' to see more.`
}

/** A line with all families, by the names that the argument `family` accepts. */
function familiesLine(models: readonly Model[]): string {
  const families = Map.groupBy(models, ({ row }) => row.family)
  const counts = [...families].map(([name, members]) => `${name} (${members.length})`)
  return `Families: ${counts.join(', ')}. Set 'family' to one of them to see its models.`
}

function modelLine(model: Model): string {
  const { row } = model
  const { name, context_window: window, capabilities } = row
  const able = Object.entries(capabilities).flatMap(([what, can]) =>
    can && !unlisted.has(what) ? what : [],
  )
  const facts = [
    ...[lifecycleText(model) ?? []].flat(),
    window === undefined ? 'context unknown' : `context ${window} tokens`,
    `capabilities: ${able.join(', ')}`,
    priceText(row),
  ]
  return `- **${row.id}** (${name}): ${facts.join('; ')}`
}

/** Members of `capabilities` that are irrelevant to the choice of a language model. */
const unlisted = new Set(['accepts_temperature', 'image_generation'])

function priceText({ pricing, price_changes: changes = [] }: Model['row']): string {
  const [next] = changes
  const then = next === undefined ? '' : `, from ${next.from} ${tokensText(next.pricing)}`
  const text = tokensText(pricing)
  return text === '' ? 'price unknown' : `price per 1M tokens: ${text}${then}`
}

function tokensText({
  input_per_million_tokens: input,
  output_per_million_tokens: output,
  thinking_output_per_million_tokens: thinking,
}: Model['row']['pricing']): string {
  if (input === undefined || output === undefined) return ''
  const reasoned = thinking === undefined ? '' : `, $${thinking} output with reasoning`
  return `$${input} input, $${output} output${reasoned}`
}
