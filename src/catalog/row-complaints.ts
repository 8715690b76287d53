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

/** The error of a member, if it is wrong. */
function aboutIf(isWrong: boolean, member: string, text: string): RowComplaint[] {
  return isWrong ? [{ members: member === '' ? [] : member.split('.'), text }] : []
}

function aboutNames(
  { id, aliases = [], provider, successor }: CatalogModel,
  all: readonly CatalogModel[],
  providerIds: readonly string[],
): RowComplaint[] {
  const others = all.filter((other) => other.id !== id)
  const taken = new Set(['auto', ...others.flatMap((one) => [one.id, ...(one.aliases ?? [])])])
  const next = others.find((other) => other.id === successor)
  const hasNext = next !== undefined && next.status !== 'deactivated'
  return [
    ...aboutIf(
      !providerIds.includes(provider),
      'provider',
      `'${provider}' is neither a vendor nor an id in providers. Name one of them.`,
    ),
    ...aboutIf(id === 'auto', '', "'auto' is the default image model. Choose another name."),
    ...aliases.flatMap((alias) =>
      aboutIf(taken.has(alias), 'aliases', `'${alias}' is another model's name. Leave it out.`),
    ),
    ...aboutIf(
      successor !== undefined && !hasNext,
      'successor',
      `the model '${successor}' does not exist or is deactivated. Name another model.`,
    ),
  ]
}

function aboutAbilities(
  { capabilities, image, embedding }: CatalogModel,
  all: readonly CatalogModel[],
): RowComplaint[] {
  const others = new Set(
    all
      .filter((one) => one.capabilities !== capabilities)
      .flatMap((one) => Object.keys(one.capabilities)),
  )
  const draws = capabilities.image_generation || capabilities.image_edit
  return [
    ...Object.keys(capabilities).flatMap((name) => {
      if (others.has(name)) return []
      const near = nearName(name, [...others])
      const meant = near === undefined ? '' : ` Did you mean '${near}'?`
      return aboutIf(true, 'capabilities', `unknown capability '${name}'.${meant}`)
    }),
    ...aboutIf(
      embedding !== undefined && (draws || capabilities.chat),
      'embedding',
      'an embedding model makes no texts or pictures. Remove capabilities.',
    ),
    ...aboutIf(
      draws && image === undefined,
      'image',
      'an image model needs its sizes, as in src/catalog/models.',
    ),
    ...aboutIf(
      !draws && image !== undefined,
      'image',
      'set image_generation or image_edit in capabilities, or leave image out.',
    ),
  ]
}

function aboutDates(row: CatalogModel): RowComplaint[] {
  const life = (['released_at', 'deprecated_at', 'deactivated_at'] as const).flatMap((name) => {
    const date = row[name]
    return date === undefined ? [] : { name, date }
  })
  const changes = (row.price_changes ?? []).map(({ from: date }) => ({
    name: 'price_changes',
    date,
  }))
  return [
    ...[...life, ...changes].flatMap(({ name, date }) =>
      aboutIf(!isDay(date), name, `'${date}' is not a date. Write it as 2026-11-22.`),
    ),
    ...aboutIf(
      !isRising(life.map(({ date }) => date)),
      '',
      'released_at, deprecated_at and deactivated_at must be in this order.',
    ),
    ...aboutIf(
      !isRising(changes.map(({ date }) => date)),
      'price_changes',
      'put the earliest first.',
    ),
    ...aboutIf(
      row.status === 'deprecated' && row.deprecated_at === undefined,
      'deprecated_at',
      'set the date since when it is deprecated.',
    ),
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
    ...aboutIf(
      (input === undefined) === hasOutput && (hasOutput || needsOutput),
      `pricing.${missing}`,
      'input and output prices must be set together. Set it too; 0 means free.',
    ),
    ...aboutIf(
      !isRising(tiers.map((tier) => String(tier.input_tokens_above).padStart(16, '0'))),
      'pricing.tiers',
      'put the lowest threshold first.',
    ),
    ...aboutIf(
      bounded && perImage.at(-1)?.pixels_max !== undefined,
      'pricing.per_image',
      'end with a price without pixels_max, for larger pictures.',
    ),
  ]
}

function isRising(texts: readonly string[]): boolean {
  return texts.every((text, place) => place === 0 || texts[place - 1]! < text)
}
