import type { CatalogModel, Model } from '../core/model.ts'
import { readPrices } from '../core/money/price.ts'

/** The capabilities of a model that may support any chat feature, or none. */
export function capabilitiesOf({ chats }: { chats: boolean }): CatalogModel['capabilities'] {
  return {
    chat: chats,
    streaming: chats,
    tools: chats,
    vision: chats,
    reasoning: chats,
    image_generation: false,
    image_edit: false,
  }
}

/** A model outside the catalog: it may support any chat feature, and its price is unknown. */
export function undescribedModel(provider: string, name: string): Model {
  const row: CatalogModel = {
    id: `${provider}/${name}`,
    provider,
    upstream_model: name,
    name,
    family: provider,
    status: 'active',
    input_modalities: ['text'],
    output_modalities: ['text'],
    capabilities: capabilitiesOf({ chats: true }),
    pricing: {},
  }
  return { row, prices: readPrices({ pricing: {} }), undescribed: true }
}
