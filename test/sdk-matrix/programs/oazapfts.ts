import {
  createChatCompletion,
  createImage,
  createImageEdit,
  defaults,
  listModels,
} from './client/api'

export function calls(baseUrl: string, key: string, picture: string) {
  defaults.baseUrl = baseUrl
  defaults.headers = { authorization: `Bearer ${key}` }
  const messages = [{ role: 'user' as const, content: 'Hello' }]
  return {
    models: async () => {
      const answer = await listModels({ limit: 2 })
      return answer.status === 200 && answer.data.data.map(({ id }) => id)
    },
    image: async () => {
      const answer = await createImage({ prompt: 'A fox', quality: 'auto' })
      return answer.status === 200 && answer.data.data[0]!.b64_json
    },
    chat: async () => {
      const answer = await createChatCompletion({ model: 'gpt-5-mini', messages })
      return answer.status === 200 && answer.data.choices[0]!.message.content
    },
    refusal: async () => {
      // @ts-expect-error -- not a valid quality
      const answer = await createImage({ prompt: 'A fox', quality: 'superb' })
      return answer.status === 400 && answer.data.error.code
    },
    edit: async () => {
      const images = [{ image_url: picture }]
      const answer = await createImageEdit({ prompt: 'A fox', images })
      return answer.status === 200 && answer.data.data[0]!.b64_json
    },
    stream: async () => {
      const answer = await createChatCompletion({ model: 'gpt-5-mini', messages, stream: true })
      return answer.data
    },
  }
}
