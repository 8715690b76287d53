import { makesImages, type Catalog, type Model } from '../../core/model.ts'
import type { RouteTable } from '../../core/route.ts'
import type { ToolHandler } from '../tool.ts'

type Options = { catalog: Pick<Catalog, 'list'>; routes: Pick<RouteTable, 'usable'> }

/** The tool `list-models`: language models, grouped by family. */
export function listModels({ catalog, routes }: Options): ToolHandler<'list-models'> {
  return async (input, { context }) => {
    const filter = {
      includeDeactivated: input.include_deactivated,
      excludeDeprecated: input.exclude_deprecated,
      family: input.family,
      limit: input.limit,
    }
    const { models, total } = catalog.list(
      filter,
      (model) => !makesImages(model) && writesText(model) && routes.usable(model, context.caller),
    )
    const families = Map.groupBy(models, ({ row }) => row.family)
    const parts = [...families].map(
      ([family, members]) => `## ${family}\n${members.map(modelLine).join('\n')}`,
    )
    const text = ['# Language Models', countLine(models.length, total), ...parts].join('\n\n')
    return [{ type: 'text', text }]
  }
}

function writesText({ row }: Model): boolean {
  return row.output_modalities.includes('text')
}

function countLine(shown: number, total: number): string {
  if (total === 0)
    return 'No model matches. Leave out a filter, or ask the operator for a provider key.'
  if (shown === total) return `All ${total} models that match.`
  return `${shown} of ${total} models that match; raise 'limit' to see more.`
}

function modelLine({ row }: Model): string {
  const { name, status, context_window: window, capabilities } = row
  const able = Object.entries(capabilities).flatMap(([what, can]) =>
    can && !unlisted.has(what) ? what : [],
  )
  const facts = [
    ...(status === 'active' ? [] : [endText(row)]),
    window === undefined ? 'context unknown' : `context ${window} tokens`,
    `capabilities: ${able.join(', ')}`,
    priceText(row),
  ]
  return `- **${row.id}** (${name}): ${facts.join('; ')}`
}

/** What becomes of a model that is not active: `deprecated until 2026-12-11, then gpt-6`. */
function endText({ status, deactivated_at: date, successor }: Model['row']): string {
  const until = date === undefined || status === 'deactivated' ? '' : ` until ${date}`
  return `${status}${until}${successor === undefined ? '' : `, then ${successor}`}`
}

/** Members of `capabilities` that do not help to choose a language model. */
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
}: Model['row']['pricing']): string {
  return input === undefined || output === undefined ? '' : `$${input} input, $${output} output`
}
