import { configureStore } from '@reduxjs/toolkit'
import { api, type ErrorResponse } from './client/api'
import { base } from './client/empty-api'

export function calls(baseUrl: string, key: string, picture: string) {
  Object.assign(base, { url: baseUrl, key })
  const { dispatch } = configureStore({
    reducer: { [api.reducerPath]: api.reducer },
    middleware: (standard) => standard().concat(api.middleware),
  })
  const { createChatCompletion, createImage, createImageEdit, listModels } = api.endpoints
  const messages = [{ role: 'user' as const, content: 'Hello' }]
  return {
    models: async () => {
      const { data } = await dispatch(listModels.initiate({ limit: 2 }))
      return data!.data.map(({ id }) => id)
    },
    image: async () => {
      const createImageRequest = { prompt: 'A fox', quality: 'auto' } as const
      const { data } = await dispatch(createImage.initiate({ createImageRequest }))
      return 'data' in data! && data.data[0]!.b64_json
    },
    chat: async () => {
      const createChatCompletionRequest = { model: 'gpt-5-mini', messages }
      const call = createChatCompletion.initiate({ createChatCompletionRequest })
      return (await dispatch(call)).data!.choices[0]!.message.content
    },
    refusal: async () => {
      const createImageRequest = { prompt: 'A fox', quality: 'superb' } as const
      // @ts-expect-error -- not a valid quality
      const { error } = await dispatch(createImage.initiate({ createImageRequest }))
      return (error as { data: ErrorResponse }).data.error.code
    },
    edit: async () => {
      const createImageEditRequest = { prompt: 'A fox', images: [{ image_url: picture }] }
      const { data } = await dispatch(createImageEdit.initiate({ createImageEditRequest }))
      return 'data' in data! && data.data[0]!.b64_json
    },
    stream: async () => {
      const createChatCompletionRequest = { model: 'gpt-5-mini', messages, stream: true }
      const call = createChatCompletion.initiate({ createChatCompletionRequest })
      return (await dispatch(call)).data
    },
  }
}
