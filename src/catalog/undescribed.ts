import type { CatalogModel, Model } from '../core/model.ts'
import { readPrices } from '../core/money/price.ts'

/** A model outside the catalog: it may support any chat feature, and its price is unknown. */
export function undescribedModel(provider: string, name: string): Model {
  const capabilities = {
    chat: true,
    streaming: true,
    tools: true,
    vision: true,
    reasoning: true,
    image_generation: false,
    image_edit: false,
  }
  const row: CatalogModel = {
    id: `${provider}/${name}`,
    provider,
    upstream_model: name,
    name,
    family: provider,
    status: 'active',
    input_modalities: ['text'],
    output_modalities: ['text'],
    capabilities,
    pricing: {},
  }
  return { row, prices: readPrices({ pricing: {} }), undescribed: true }
}
