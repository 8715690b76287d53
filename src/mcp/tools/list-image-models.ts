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
    `- **Price:** ${priceText(prices)}`,
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

/** The price of a request without size and quality, which is the first row, and the highest price. */
function priceText({
  perImage,
  perImageIsEstimate,
  referenceImageNanoUsd: perInput,
  tokens,
}: Prices): string {
  const [first] = perImage
  if (first === undefined) return tokens === null ? 'not known' : 'not known; billed by tokens'
  const most = Math.max(...perImage.map(({ nanoUsd }) => nanoUsd))
  const upTo = most > first.nanoUsd ? `, up to $${usdText(most)} by ${traitsOf(perImage)}` : ''
  const estimated = perImageIsEstimate ? ' (estimated)' : ''
  const inputs = perInput > 0 ? `, and $${usdText(perInput)} for each picture that it edits` : ''
  return `$${usdText(first.nanoUsd)} per request${upTo}${inputs}${estimated}`
}

/** The parameters that the price of a picture depends on. */
function traitsOf(rows: Prices['perImage']): string {
  const isBySize = rows.some(({ sizeClass, size, pixelsMax }) => sizeClass ?? size ?? pixelsMax)
  const isByQuality = rows.some(({ quality }) => quality)
  return [...(isBySize ? ['size'] : []), ...(isByQuality ? ['quality'] : [])].join(' and ')
}
