import { ApiError, ChatService, ImagesService, ModelsService, OpenAPI } from './client'

export function calls(baseUrl: string, key: string, picture: string) {
  OpenAPI.BASE = baseUrl
  OpenAPI.TOKEN = key
  const messages = [{ role: 'user' as const, content: 'Hello' }]
  return {
    models: async () => {
      const { data } = await ModelsService.listModels(false, false, 2)
      return data.map(({ id }) => id)
    },
    image: async () => {
      const answer = await ImagesService.createImage({
        prompt: 'A fox',
        quality: 'auto',
      })
      return 'data' in answer && answer.data[0]!.b64_json
    },
    chat: async () => {
      const { choices } = await ChatService.createChatCompletion({ model: 'gpt-5-mini', messages })
      return choices[0]!.message.content
    },
    refusal: async () => {
      // @ts-expect-error -- not a valid quality
      const call = ImagesService.createImage({ prompt: 'A fox', quality: 'superb' })
      const refused: unknown = await call.catch((error: unknown) => error)
      return refused instanceof ApiError && refused.body.error.code
    },
    edit: async () => {
      const images = [{ image_url: picture }]
      const answer = await ImagesService.createImageEdit({ prompt: 'A fox', images })
      return 'data' in answer && answer.data[0]!.b64_json
    },
    stream: () => ChatService.createChatCompletion({ model: 'gpt-5-mini', messages, stream: true }),
  }
}
