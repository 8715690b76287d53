import type { Vendor } from '../vendor.ts'
import { writeChat } from './chat-request.ts'
import { chatAdapter, versionHeaders } from './chat.ts'

/** Anthropic (docs/vendors.md#anthropic). */
export const anthropic: Vendor = {
  id: 'anthropic',
  name: 'Anthropic',
  keyPrefixes: ['sk-ant-'],
  keyVariables: ['ANTHROPIC_API_KEY'],
  baseUrlVariable: 'ANTHROPIC_BASE_URL',
  baseUrl: 'https://api.anthropic.com',
  keyHeader: 'x-api-key',
  modelsPath: '/v1/models?limit=1000',
  modelsHeaders: versionHeaders,
  imageConfig: 'ImageConfigOpenai',
  thoughtsShown: 'asked',
  nativeApi: 'messages',
  costForms: [
    { day: 'usage_date_utc', item: 'model', amount: 'cost_usd', roundedDecimals: 2 },
    {
      day: 'starting_at',
      item: 'model',
      amount: 'amount',
      amountDecimals: 2,
      currency: 'currency',
    },
  ],
  writeChat,
  build: (endpoint) => ({ id: endpoint.id, chat: chatAdapter(endpoint) }),
}
