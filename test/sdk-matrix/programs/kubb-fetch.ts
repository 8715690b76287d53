import { setConfig } from '@kubb/plugin-client/clients/fetch'
import {
  createChatCompletion,
  createImage,
  createImageEdit,
  listModels,
  type ErrorResponse,
} from './client'

export function calls(baseUrl: string, key: string, picture: string) {
  // Sets the content type, because Kubb's client does not.
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  setConfig({ baseURL: baseUrl, headers })
  const messages = [{ role: 'user' as const, content: 'Hello' }]
  return {
    models: async () => (await listModels({ limit: 2 })).data.map(({ id }) => id),
    image: async () => {
      const answer = await createImage({ prompt: 'A fox', quality: 'auto' })
      return 'data' in answer && answer.data[0]!.b64_json
    },
    chat: async () => {
      const { choices } = await createChatCompletion({ model: 'gpt-5-mini', messages })
      return choices[0]!.message.content
    },
    refusal: async () => {
      // @ts-expect-error -- not a valid quality
      const answer = await createImage({ prompt: 'A fox', quality: 'superb' })
      // The cast is needed, because Kubb's client treats every status as a success.
      return (answer as unknown as ErrorResponse).error.code
    },
    edit: async () => {
      const images = [{ image_url: picture }]
      const answer = await createImageEdit({ prompt: 'A fox', images })
      return 'data' in answer && answer.data[0]!.b64_json
    },
  }
}
