import createClient from 'openapi-fetch'
import type { paths } from './client/types'

export function calls(baseUrl: string, key: string, picture: string) {
  // Names the media type, because a chat answer could otherwise be the text of an event stream.
  const client = createClient<paths, 'application/json'>({
    baseUrl,
    headers: { authorization: `Bearer ${key}` },
  })
  const messages = [{ role: 'user' as const, content: 'Hello' }]
  return {
    models: async () => {
      const { data } = await client.GET('/v1/models', { params: { query: { limit: 2 } } })
      return data!.data.map(({ id }) => id)
    },
    image: async () => {
      const body = { prompt: 'A fox', quality: 'auto' } as const
      const { data } = await client.POST('/v1/images/generations', { body })
      return dataOf(data!)[0]!.b64_json
    },
    chat: async () => {
      const body = { model: 'gpt-5-mini', messages }
      const { data } = await client.POST('/v1/chat/completions', { body })
      return data!.choices[0]!.message.content
    },
    refusal: async () => {
      const { error } = await client.POST('/v1/images/generations', {
        // @ts-expect-error -- not a valid quality
        body: { prompt: 'A fox', quality: 'superb' },
      })
      return error!.error.code
    },
    edit: async () => {
      const body = { prompt: 'A fox', images: [{ image_url: picture }] }
      const { data } = await client.POST('/v1/images/edits', { body })
      return dataOf(data!)[0]!.b64_json
    },
    form: async () => {
      const form = new FormData()
      form.append('image', await (await fetch(picture)).blob(), 'a.png')
      form.append('prompt', 'A fox')
      const { data } = await client.POST('/v1/images/edits', {
        body: { prompt: 'A fox', image: 'a.png' },
        bodySerializer: () => form,
      })
      return dataOf(data!)[0]!.b64_json
    },
    stream: async () => {
      const body = { model: 'gpt-5-mini', messages, stream: true }
      const { data } = await client.POST('/v1/chat/completions', { body, parseAs: 'text' })
      return data
    },
  }
}

/** Only a request with `Prefer: respond-async` is answered with a job. */
function dataOf<Image>(answer: { data: Image[] } | { object: 'image.job' }): Image[] {
  if ('data' in answer) return answer.data
  throw new Error('The answer is a job.')
}
