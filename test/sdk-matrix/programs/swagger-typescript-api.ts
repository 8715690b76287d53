import {
  Api,
  type CreateImageEditForm,
  type ErrorResponse,
  type ImagesResponse,
} from './client/api'

export function calls(baseUrl: string, key: string, picture: string) {
  const baseApiParams = { headers: { authorization: `Bearer ${key}` } }
  const api = new Api({ baseUrl, baseApiParams })
  const { v1 } = api
  const messages = [{ role: 'user' as const, content: 'Hello' }]
  return {
    models: async () => (await v1.listModels({ limit: 2 })).data.data.map(({ id }) => id),
    image: async () => {
      const { data } = await v1.createImage({ prompt: 'A fox', quality: 'auto' })
      return data.data[0]!.b64_json
    },
    chat: async () => {
      const { data } = await v1.createChatCompletion({ model: 'gpt-5-mini', messages })
      return data.choices[0]!.message.content
    },
    refusal: async () => {
      // @ts-expect-error -- not a valid quality
      const call = v1.createImage({ prompt: 'A fox', quality: 'superb' })
      const { error } = (await call.catch((refused) => refused)) as { error: ErrorResponse }
      return error.error.code
    },
    edit: async () => {
      const images = [{ image_url: picture }]
      const { data } = await v1.createImageEdit({ prompt: 'A fox', images })
      return data.data[0]!.b64_json
    },
    form: async () => {
      const body: CreateImageEditForm = {
        image: new File([await (await fetch(picture)).blob()], 'a.png'),
        prompt: 'A fox',
      }
      // The generated function sends JSON, so the form uses the client directly.
      const { data } = await api.request<ImagesResponse>({
        path: '/v1/images/edits',
        method: 'POST',
        body,
        type: 'multipart/form-data',
        format: 'json',
      })
      return data.data[0]!.b64_json
    },
    stream: async () => {
      const body = { model: 'gpt-5-mini', messages, stream: true }
      return (await v1.createChatCompletion(body, { format: 'text' })).data
    },
  }
}
