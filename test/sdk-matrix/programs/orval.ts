import { createChatCompletion, createImage, createImageEdit, listModels } from './client/api'

export function calls(baseUrl: string, key: string, picture: string) {
  // Replaces fetch to set the base URL; Orval's option `mutator` would be an alternative.
  const fetchAt = globalThis.fetch
  globalThis.fetch = (url, init) => fetchAt(new URL(String(url), baseUrl), init)
  const options = { headers: { authorization: `Bearer ${key}` } }
  const messages = [{ role: 'user' as const, content: 'Hello' }]
  return {
    models: async () => {
      const answer = await listModels({ limit: 2 }, options)
      return answer.status === 200 && answer.data.data.map(({ id }) => id)
    },
    image: async () => {
      const answer = await createImage({ prompt: 'A fox', quality: 'auto' }, options)
      // The answer would be a string if it were an event stream.
      return (
        typeof answer.data === 'object' && 'data' in answer.data && answer.data.data[0]!.b64_json
      )
    },
    chat: async () => {
      const { data } = await createChatCompletion({ model: 'gpt-5-mini', messages }, options)
      return typeof data === 'object' && 'choices' in data && data.choices[0]!.message.content
    },
    refusal: async () => {
      // @ts-expect-error -- not a valid quality
      const answer = await createImage({ prompt: 'A fox', quality: 'superb' }, options)
      return answer.status === 400 && answer.data.error.code
    },
    edit: async () => {
      const images = [{ image_url: picture }]
      const answer = await createImageEdit({ prompt: 'A fox', images }, options)
      // The answer would be a string if it were an event stream.
      return (
        typeof answer.data === 'object' && 'data' in answer.data && answer.data.data[0]!.b64_json
      )
    },
    stream: async () => {
      const body = { model: 'gpt-5-mini', messages, stream: true }
      return (await createChatCompletion(body, options)).data
    },
  }
}
