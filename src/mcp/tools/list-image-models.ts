import type { Catalog, Model } from '../../core/model.ts'
import { usdText, type Prices } from '../../core/money/price.ts'
import type { RouteTable } from '../../core/route.ts'
import { lifecycleText } from './results.ts'
import type { ToolHandler } from '../tool.ts'

type Options = { catalog: Pick<Catalog, 'list'>; routes: Pick<RouteTable, 'usable'> }

/** The tool `list-image-models` (the product document, Image model listing entry). */
export function listImageModels({ catalog, routes }: Options): ToolHandler<'list-image-models'> {
  return async (_input, { context }) => {
    const { models } = catalog.list(
      {},
      (model) => model.row.capabilities.image_generation && routes.usable(model, context.caller),
    )
    const text = ['# Image Generation Models', ...models.map(entry)].join('\n\n')
    return [{ type: 'text', text }]
  }
}

function entry(model: Model): string {
  const { row, prices } = model
  return [
    `## ${row.name}`,
    `- **Model ID:** ${row.id}`,
    `- **Description:** ${descriptionOf(model)}`,
    `- **Price:** ${priceText(prices, row.image)}`,
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
      : [`edits up to ${inputs} picture${inputs === 1 ? '' : 's'}`]),
    ...(end === undefined ? [] : [end]),
  ].join('; ')
}

/** A square picture of medium quality costs $0.053 by gpt-image-2, whose million output tokens cost $30. */
const typicalShare = { of: 53n, in: 30_000n }

/** The price of a request without size and quality, and the highest price. */
function priceText(prices: Prices, image: Model['row']['image']): string {
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
