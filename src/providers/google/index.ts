import type { Vendor } from '../vendor.ts'
import { writeChat } from './chat-request.ts'
import { chatAdapter } from './chat.ts'
import { embeddingAdapter } from './embedding.ts'
import { imageAdapter } from './image.ts'

/** Google Gemini, provider group 1 (docs/vendors.md#google-gemini). */
export const google: Vendor = {
  id: 'google',
  name: 'Google Gemini',
  traceName: 'gcp.gemini',
  keyPrefixes: ['AIza', 'AQ.'],
  keyVariables: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
  baseUrlVariable: 'GEMINI_BASE_URL',
  baseUrl: 'https://generativelanguage.googleapis.com',
  keyHeader: 'x-goog-api-key',
  badKeyMark: 'API_KEY_INVALID',
  modelsPath: '/v1beta/models?pageSize=1000',
  modelNames,
  namePrefixes: ['gemini', 'models', 'vertex_ai'],
  imageConfig: 'ImageConfigGoogle',
  thoughtsShown: 'asked',
  writeChat,
  build: (endpoint) => ({
    id: endpoint.id,
    chat: chatAdapter(endpoint),
    image: imageAdapter(endpoint),
    embedding: embeddingAdapter(endpoint),
  }),
}

/** Names in Google's model list, without the prefix of `models/gemini-3.5-flash`. */
function modelNames({ models }: { models?: { name?: unknown }[] }): unknown[] {
  return (models ?? []).map(({ name }) => String(name).replace(/^models\//, ''))
}
