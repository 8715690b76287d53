import { isDay } from '../core/time.ts'
import type { CatalogModel } from '../core/model.ts'
import { nearName } from '../core/words/near-name.ts'

/** An error of a model: the path of the member in its entry, and a sentence. */
type RowComplaint = { members: readonly string[]; text: string }

/** Errors in a row that the schema cannot express. */
export function complaintsAboutRow(
  row: CatalogModel,
  all: readonly CatalogModel[],
  providerIds: readonly string[],
): RowComplaint[] {
  return [
    ...aboutNames(row, all, providerIds),
    ...aboutAbilities(row, all),
    ...aboutDates(row),
    ...[row.pricing, ...(row.price_changes ?? []).map(({ pricing }) => pricing)].flatMap(
      (pricing) => aboutPrices(pricing, !isForInputOnly(row)),
    ),
  ]
}

/** Whether only the input has a price. */
function isForInputOnly({ embedding, output_modalities: made }: CatalogModel): boolean {
  return embedding !== undefined || made.includes('moderation')
}

function about(member: string, text: string): RowComplaint {
  return { members: member === '' ? [] : member.split('.'), text }
}

function aboutNames(
  { id, aliases = [], provider, successor }: CatalogModel,
  all: readonly CatalogModel[],
  providerIds: readonly string[],
): RowComplaint[] {
  const others = all.filter((other) => other.id !== id)
  const taken = new Set(['auto', ...others.flatMap((one) => [one.id, ...(one.aliases ?? [])])])
  const next = others.find((other) => other.id === successor)
  return [
    ...(providerIds.includes(provider)
      ? []
      : [
          about(
            'provider',
            `'${provider}' is neither a vendor nor an id in providers. Name one of them.`,
          ),
        ]),
    ...(id === 'auto'
      ? [about('', "'auto' is the default image model. Choose another name.")]
      : []),
    ...aliases
      .filter((alias) => taken.has(alias))
      .map((alias) => about('aliases', `'${alias}' is another model's name. Leave it out.`)),
    ...(successor === undefined || (next !== undefined && next.status !== 'deactivated')
      ? []
      : [
          about(
            'successor',
            `the model '${successor}' does not exist or is deactivated. Name another model.`,
          ),
        ]),
  ]
}

function aboutAbilities(
  { capabilities, image, embedding }: CatalogModel,
  all: readonly CatalogModel[],
) {
  const known = [...new Set(all.flatMap((one) => Object.keys(one.capabilities)))]
  const others = new Set(
    all
      .filter((one) => one.capabilities !== capabilities)
      .flatMap((one) => Object.keys(one.capabilities)),
  )
  const unknown = Object.keys(capabilities).filter((name) => !others.has(name))
  const draws = capabilities.image_generation || capabilities.image_edit
  return [
    ...unknown.map((name) => {
      const near = nearName(
        name,
        known.filter((one) => others.has(one)),
      )
      return about(
        'capabilities',
        `unknown capability '${name}'.${near === undefined ? '' : ` Did you mean '${near}'?`}`,
      )
    }),
    ...(embedding !== undefined && (draws || capabilities.chat)
      ? [about('embedding', 'an embedding model makes no texts or pictures. Remove capabilities.')]
      : []),
    ...(draws && image === undefined
      ? [about('image', 'an image model needs its sizes, as in src/catalog/models.')]
      : []),
    ...(!draws && image !== undefined
      ? [about('image', 'set image_generation or image_edit in capabilities, or leave image out.')]
      : []),
  ]
}

function aboutDates(row: CatalogModel): RowComplaint[] {
  const life = (['released_at', 'deprecated_at', 'deactivated_at'] as const).flatMap((name) => {
    const date = row[name]
    return date === undefined ? [] : { name, date }
  })
  const changes = (row.price_changes ?? []).map(({ from }) => ({
    name: 'price_changes',
    date: from,
  }))
  const unreal = [...life, ...changes].filter(({ date }) => !isDay(date))
  return [
    ...unreal.map(({ name, date }) =>
      about(name, `'${date}' is not a date. Write it as 2026-11-22.`),
    ),
    ...(isRising(life.map(({ date }) => date))
      ? []
      : [about('', 'released_at, deprecated_at and deactivated_at must be in this order.')]),
    ...(isRising(changes.map(({ date }) => date))
      ? []
      : [about('price_changes', 'put the earliest first.')]),
    ...(row.status === 'deprecated' && row.deprecated_at === undefined
      ? [about('deprecated_at', 'set the date since when it is deprecated.')]
      : []),
  ]
}

function aboutPrices(
  {
    input_per_million_tokens: input,
    output_per_million_tokens: output,
    image_output_per_million_tokens: imageOutput,
    tiers = [],
    per_image: perImage = [],
  }: CatalogModel['pricing'],
  needsOutput: boolean,
): RowComplaint[] {
  const hasOutput = output !== undefined || imageOutput !== undefined
  const missing = hasOutput ? 'input_per_million_tokens' : 'output_per_million_tokens'
  const bounded = perImage.some((one) => one.pixels_max !== undefined)
  return [
    ...((input === undefined) === hasOutput && (hasOutput || needsOutput)
      ? [
          about(
            `pricing.${missing}`,
            'input and output prices must be set together. Set it too; 0 means free.',
          ),
        ]
      : []),
    ...(isRising(tiers.map((tier) => String(tier.input_tokens_above).padStart(16, '0')))
      ? []
      : [about('pricing.tiers', 'put the lowest threshold first.')]),
    ...(bounded && perImage.at(-1)?.pixels_max !== undefined
      ? [about('pricing.per_image', 'end with a price without pixels_max, for larger pictures.')]
      : []),
  ]
}

function isRising(texts: readonly string[]): boolean {
  return texts.every((text, place) => place === 0 || texts[place - 1]! < text)
}
