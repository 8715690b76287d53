import { platformFieldsExcept } from '../openai-compatible/dialect.ts'
import { protocolVendor } from '../openai-compatible/vendor.ts'
import { pictureUrl } from '../wire/long-text.ts'

/** Together, with any model that it hosts (docs/vendors.md#openai-compatible-endpoints). */
export const together = protocolVendor({
  id: 'together',
  name: 'Together',
  anyModel: true,
  baseUrl: 'https://api.together.xyz/v1',
  namePrefixes: ['together_ai'],
  dialect: {
    without: ['parallel_tool_calls', 'user', ...platformFieldsExcept()],
    limit: 'max_tokens',
    stops: { listed: true },
    countedLogprobs: true,
    wantsSchema: true,
    noDeveloper: true,
    takesBack: [],
  },
  embeddingDialect: { takes: {} },
  imageDialect: {
    more: () => ({ response_format: 'base64' }),
    shape: ({ vendorPixels }) => ({ ...vendorPixels }),
    edits: {
      path: '/images/generations',
      inputs: ([source]) => ({ image_url: pictureUrl(source!) }),
    },
    unlisted: {
      capabilities: { seed: true },
      image: {
        size: { kind: 'free' },
        output_formats: ['jpeg', 'png'],
        images_per_call_max: 1,
        reference_images_min: 0,
        reference_images_max: 1,
      },
    },
  },
})
