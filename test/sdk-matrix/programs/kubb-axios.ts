import { setConfig } from '@kubb/plugin-client/clients/axios'
import { isAxiosError } from 'axios'
import {
  createChatCompletion,
  createImage,
  createImageEdit,
  listModels,
  type ErrorResponse,
} from './client'

export function calls(baseUrl: string, key: string, picture: string) {
  setConfig({ baseURL: baseUrl, headers: { authorization: `Bearer ${key}` } })
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
      const refused: unknown = await createImage({ prompt: 'A fox', quality: 'superb' }).catch(
        (error: unknown) => error,
      )
      return isAxiosError<ErrorResponse>(refused) && refused.response!.data.error.code
    },
    edit: async () => {
      const images = [{ image_url: picture }]
      const answer = await createImageEdit({ prompt: 'A fox', images })
      return 'data' in answer && answer.data[0]!.b64_json
    },
    stream: () =>
      createChatCompletion(
        { model: 'gpt-5-mini', messages, stream: true },
        {},
        { responseType: 'text' },
      ),
  }
}
