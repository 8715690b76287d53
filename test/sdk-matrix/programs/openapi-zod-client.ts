import { isErrorFromAlias } from '@zodios/core'
import { api, createApiClient } from './client/api'

export function calls(baseUrl: string, key: string, picture: string) {
  const axiosConfig = { headers: { authorization: `Bearer ${key}` } }
  const client = createApiClient(baseUrl, { axiosConfig })
  const messages = [{ role: 'user' as const, content: 'Hello' }]
  return {
    models: async () => {
      const { data } = await client.listModels({ queries: { limit: 2 } })
      return data.map(({ id }) => id)
    },
    image: async () => {
      const { data } = await client.createImage({ prompt: 'A fox', quality: 'auto' })
      return data[0]!.b64_json
    },
    chat: async () => {
      const { choices } = await client.createChatCompletion({ model: 'gpt-5-mini', messages })
      return choices[0]!.message.content
    },
    refusal: async () => {
      const trusting = createApiClient(baseUrl, { axiosConfig, validate: 'response' })
      // @ts-expect-error -- not a valid quality
      const call = trusting.createImage({ prompt: 'A fox', quality: 'superb' })
      const refused: unknown = await call.catch((error: unknown) => error)
      return isErrorFromAlias(api.api, 'createImage', refused) && refused.response.data.error.code
    },
    edit: async () => {
      const images = [{ image_url: picture }]
      const { data } = await client.createImageEdit({ prompt: 'A fox', images })
      return data[0]!.b64_json
    },
    stream: () => {
      const unchecked = createApiClient(baseUrl, { axiosConfig, validate: 'request' })
      return unchecked.createChatCompletion({ model: 'gpt-5-mini', messages, stream: true })
    },
  }
}
