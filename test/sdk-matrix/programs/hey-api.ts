import { createClient, formDataBodySerializer } from './client/client'
import { createChatCompletion, createImage, createImageEdit, listModels } from './client/sdk.gen'
import type { CreateImageEditForm, CreateImageEditResponses } from './client/types.gen'

export function calls(baseUrl: string, key: string, picture: string) {
  const client = createClient({ baseUrl, auth: key })
  const messages = [{ role: 'user' as const, content: 'Hello' }]
  return {
    models: async () => {
      const { data } = await listModels({ client, query: { limit: 2 } })
      return data!.data.map(({ id }) => id)
    },
    image: async () => {
      const { data } = await createImage({ client, body: { prompt: 'A fox', quality: 'auto' } })
      return dataOf(data!)[0]!.b64_json
    },
    chat: async () => {
      const { data } = await createChatCompletion({
        client,
        body: { model: 'gpt-5-mini', messages },
      })
      return data!.choices[0]!.message.content
    },
    refusal: async () => {
      // @ts-expect-error -- not a valid quality
      const { error } = await createImage({ client, body: { prompt: 'A fox', quality: 'superb' } })
      return error!.error.code
    },
    edit: async () => {
      const body = { prompt: 'A fox', images: [{ image_url: picture }] }
      const { data } = await createImageEdit({ client, body })
      return dataOf(data!)[0]!.b64_json
    },
    form: async () => {
      const body: CreateImageEditForm = {
        image: await (await fetch(picture)).blob(),
        prompt: 'A fox',
      }
      // The generated function sends JSON, so the form uses the client directly.
      const { data } = await client.post<CreateImageEditResponses>({
        ...formDataBodySerializer,
        url: '/v1/images/edits',
        headers: { 'Content-Type': null },
        security: [{ scheme: 'bearer', type: 'http' }],
        body,
      })
      return dataOf(data!)[0]!.b64_json
    },
    stream: async () => {
      const body = { model: 'gpt-5-mini', messages, stream: true }
      return (await createChatCompletion({ client, body, parseAs: 'text' })).data
    },
  }
}

/** Only a request with `Prefer: respond-async` is answered with a job. */
function dataOf<Image>(answer: { data: Image[] } | { object: 'image.job' }): Image[] {
  if ('data' in answer) return answer.data
  throw new Error('The answer is a job.')
}
