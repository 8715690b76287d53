import { nearName } from '../../core/words/near-name.ts'
import { makesImages, type Catalog, type Model } from '../../core/model.ts'
import { usdText, type Prices } from '../../core/money/price.ts'
import type { RouteTable } from '../../core/route.ts'
import { lifecycleText } from './results.ts'
import type { ToolHandler } from '../tool.ts'
import { counted } from '../../core/words/counted.ts'

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

/** The tool `list-image-models` (the product document, Image model listing entry). */
export function listImageModels({ catalog, routes }: Options): ToolHandler<'list-image-models'> {
  return async (_input, { context }) => {
    const { models } = catalog.list(
      {},
      (model) => model.row.capabilities.image_generation && routes.usable(model, context.caller),
    )
    const text = ['# Image Generation Models', ...models.map(imageEntry)].join('\n\n')
    return [{ type: 'text', text }]
  }
}

function imageEntry(model: Model): string {
  const { row, prices } = model
  return [
    `## ${row.name}`,
    `- **Model ID:** ${row.id}`,
    `- **Description:** ${descriptionOf(model)}`,
    `- **Price:** ${picturePrice(prices, row.image)}`,
  ].join('\n')
}

/** Matches descriptions that already contain the number of input pictures. */
const mentionsInputs = /\d reference/

/** The description, the number of input pictures, and the end of a model that is not active. */
function descriptionOf(model: Model): string {
  const { description = 'Text to image', image } = model.row
  const inputs = image?.reference_images_max ?? 0
  const end = lifecycleText(model)
  return [
    description.replace(/\.$/, ''),
    ...(inputs === 0 || mentionsInputs.test(description)
      ? []
      : [`edits up to ${counted(inputs, 'picture')}`]),
    ...(end === undefined ? [] : [end]),
  ].join('; ')
}

/** A square picture of medium quality costs $0.053 by gpt-image-2, whose million output tokens cost $30. */
const typicalShare = { of: 53n, in: 30_000n }

/** The price of a request without size and quality, and the highest price. */
function picturePrice(prices: Prices, image: Model['row']['image']): string {
  const { perImage, perImageIsEstimate, referenceImageNanoUsd: perInput, tokens } = prices
  const standard = standardPrice(perImage, image?.size.default_size)
  if (standard === undefined) {
    const perMillion = tokens?.imageOutput ?? null
    if (perMillion === null) return 'not known'
    const amount = (perMillion * typicalShare.of) / typicalShare.in
    return `$${usdText(amount)} per request (typical)`
  }
  const most = Math.max(...perImage.map(({ nanoUsd }) => nanoUsd))
  const upTo = most > standard.nanoUsd ? `, up to $${usdText(most)} by ${traitsOf(perImage)}` : ''
  const typical = perImageIsEstimate ? ' (typical)' : ''
  const inputs = perInput > 0 ? `, and $${usdText(perInput)} for each picture that it edits` : ''
  return `$${usdText(standard.nanoUsd)} per request${upTo}${inputs}${typical}`
}

/** The row of the default size at medium quality, which vendors choose by default. */
function standardPrice(
  rows: Prices['perImage'],
  defaultSize: string | undefined,
): Prices['perImage'][number] | undefined {
  const ofSize = rows.filter(({ size, sizeClass }) => [size, sizeClass].includes(defaultSize))
  const fitting = ofSize.length === 0 ? rows : ofSize
  return fitting.find(({ quality = 'medium' }) => quality === 'medium') ?? fitting[0]
}

/** The parameters that the price of a picture depends on. */
function traitsOf(rows: Prices['perImage']): string {
  const isBySize = rows.some(({ sizeClass, size, pixelsMax }) => sizeClass ?? size ?? pixelsMax)
  const isByQuality = rows.some(({ quality }) => quality)
  return [...(isBySize ? ['size'] : []), ...(isByQuality ? ['quality'] : [])].join(' and ')
}
