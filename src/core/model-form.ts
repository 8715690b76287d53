import type { components } from '../../generated/types.ts'
import type { Model } from './model.ts'

/** A model in the form of the contract, where unknown values are null. */
export function toModel({ row }: Model): components['schemas']['Model'] {
  return {
    id: row.id,
    object: 'model',
    created: row.released_at === undefined ? 0 : Date.parse(row.released_at) / 1000,
    owned_by: row.provider,
    name: row.name,
    family: row.family,
    status: row.status,
    aliases: row.aliases ?? [],
    input_modalities: row.input_modalities,
    output_modalities: row.output_modalities,
    capabilities: row.capabilities,
    context_window: row.context_window ?? null,
    max_output_tokens: row.max_output_tokens ?? null,
    pricing: row.pricing,
    price_changes: row.price_changes ?? [],
    image: row.image ?? null,
    deprecated_at: row.deprecated_at ?? null,
    deactivated_at: row.deactivated_at ?? null,
    successor: row.successor ?? null,
  }
}
