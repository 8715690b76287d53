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
  writeChat,
  build: (endpoint) => ({ id: endpoint.id, chat: chatAdapter(endpoint) }),
}
