import type { VendorFacts } from '../core/model.ts'
import { alibaba } from './alibaba/index.ts'
import { anthropic } from './anthropic/index.ts'
import { bfl } from './bfl/index.ts'
import { bytedance } from './bytedance/index.ts'
import { cerebras } from './cerebras/index.ts'
import { deepseek } from './deepseek/index.ts'
import { fal } from './fal/index.ts'
import { google, vertex } from './google/index.ts'
import { groq } from './groq/index.ts'
import { hosts } from './hosts/index.ts'
import { ideogram } from './ideogram/index.ts'
import { mistral } from './mistral/index.ts'
import { moonshot } from './moonshot/index.ts'
import { azure, openai } from './openai/index.ts'
import { plainDialect } from './openai-compatible/dialect.ts'
import { openrouter } from './openrouter/index.ts'
import { perplexity } from './perplexity/index.ts'
import { together } from './together/index.ts'
import { recraft } from './recraft/index.ts'
import type { Vendor } from './vendor.ts'
import { xai } from './xai/index.ts'
import { zai } from './zai/index.ts'

/** All vendors, in the order of the settings; each is enabled by its key variable. */
export const vendors: readonly Vendor[] = [
  google,
  vertex,
  alibaba,
  zai,
  bytedance,
  openai,
  azure,
  anthropic,
  mistral,
  deepseek,
  groq,
  xai,
  together,
  openrouter,
  moonshot,
  cerebras,
  perplexity,
  recraft,
  ideogram,
  bfl,
  fal,
  ...hosts,
]

const byId = new Map(vendors.map((vendor) => [vendor.id, vendor]))

/** The vendor with this id; undefined for an endpoint that the operator configured. */
export function vendorOf(id: string): Vendor | undefined {
  return byId.get(id)
}

/** What the APIs need to know of a vendor; also for an endpoint that the operator configured. */
export function vendorFacts(providerId: string): VendorFacts {
  return facts.get(providerId) ?? endpointFacts
}

function factsOf(vendor?: Vendor): VendorFacts {
  const { imageConfig = 'ImageConfigOpenai', dialect, nativeApi } = vendor ?? {}
  return {
    imageConfig,
    takesImageConfig: (dialect ?? plainDialect).takesImageConfig === true,
    takesCustomTools: dialect?.customTools === true,
    onlyPictures: vendor?.onlyPictures === true,
    nativeApi,
  }
}

const facts = new Map(vendors.map((vendor) => [vendor.id, factsOf(vendor)]))
const endpointFacts = factsOf()

/** Prefixes of model names besides the provider id, such as `qwen` for `alibaba`. */
export const namePrefixes: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  vendors.map((vendor) => [vendor.id, vendor.namePrefixes ?? []]),
)

/** The forms of cost exports, each with the provider that writes it. */
export const costForms = vendors.flatMap(({ id: provider, costForms: forms = [] }) =>
  forms.map((form) => ({ ...form, provider })),
)

/** The variable that enables a provider; undefined for an endpoint of the operator. */
export function settingFor(providerId: string): string | undefined {
  return vendorOf(providerId)?.keyVariables[0]
}

/**
 * Errors in the ids of the operator's endpoints. An endpoint with a vendor's id would use parts of
 * the vendor's adapters, and ids must be unique.
 */
export function complaintsAboutIds(providers: readonly { id: string }[]): string[] {
  const ids = providers.map(({ id }) => id)
  return ids.flatMap((id, place) => {
    const vendor = vendors.find((one) => one.id === id)
    if (vendor !== undefined) {
      const [key] = vendor.keyVariables
      return `providers: '${id}' is the id of ${vendor.name}. Set ${key} and ${vendor.baseUrlVariable}, or choose another id.`
    }
    if (/^sandbox(-\d+)?$/.test(id))
      return `providers: '${id}' is reserved for test keys. Choose another id.`
    return ids.indexOf(id) === place
      ? []
      : `providers: the id '${id}' is used twice. Choose another id.`
  })
}
