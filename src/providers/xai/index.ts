import { prune } from '../../core/prune.ts'
import { platformFieldsExcept } from '../openai-compatible/dialect.ts'
import { protocolVendor } from '../openai-compatible/vendor.ts'
import { pictureUrl } from '../wire/long-text.ts'
import { costOf } from '../wire/reported-cost.ts'

/** xAI (docs/vendors.md#openai-compatible-endpoints). */
export const xai = protocolVendor({
  id: 'xai',
  name: 'xAI',
  traceName: 'x_ai',
  keyPrefixes: ['xai-'],
  baseUrl: 'https://api.x.ai/v1',
  namePrefixes: ['x-ai'],
  badKeyMark: 'Incorrect API key provided',
  dialect: {
    without: ['logit_bias', ...platformFieldsExcept('web_search_options')],
    withoutWhenReasoning: ['presence_penalty', 'frequency_penalty', 'stop'],
    limit: 'max_tokens',
    takesBack: [],
    readCost,
  },
  imageConfig: 'ImageConfigXai',
  imageDialect: {
    shape: ({ aspectRatio, sizeClass }) =>
      prune({ aspect_ratio: aspectRatio, resolution: sizeClass?.toLowerCase() }),
    edits: {
      path: '/images/edits',
      inputs: (sources) => {
        const images = sources.map((source) => ({ type: 'image_url', url: pictureUrl(source) }))
        const [image] = images
        return images.length === 1 ? { image } : { images }
      },
    },
    isRefused: ({ respect_moderation: respected }) => respected === false,
  },
})

/** A tick is 1e-10 dollars (docs/vendors.md#what-vendors-charge). */
const ticksPerUsd = 10_000_000_000n

function readCost({ cost_in_usd_ticks: ticks }: { cost_in_usd_ticks?: unknown }) {
  return costOf(ticks, ticksPerUsd)
}
