import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, isStepCount, Output, streamText, tool } from 'ai'
import { z } from 'zod'
import type { Asked } from '../calls.ts'

export function calls({ baseURL, apiKey, model: name, api, picture, prompts }: Asked) {
  const house = createOpenAICompatible({
    name: 'house',
    baseURL,
    apiKey,
    supportsStructuredOutputs: true,
    includeUsage: true,
  })
  const model = api === 'chat' ? house(name) : createOpenAI({ baseURL, apiKey })(name)
  const weather = tool({
    description: 'Tells the weather.',
    inputSchema: z.object({ city: z.string() }),
    execute: async ({ city }) => `21 degrees in ${city}`,
  })
  const looping = { model, prompt: prompts.weather, tools: { weather }, stopWhen: isStepCount(3) }
  const schema = z.object({ city: z.string(), degrees: z.number() })
  return {
    text: async () => (await generateText({ model, prompt: prompts.text })).text,
    stream: async () => {
      let text = ''
      for await (const piece of streamText({ model, prompt: prompts.text }).textStream)
        text += piece
      return text
    },
    talk: async () => {
      const question = { role: 'user' as const, content: prompts.text }
      const { response } = await generateText({ model, messages: [question] })
      const messages = [question, ...response.messages, question]
      return (await generateText({ model, messages })).text
    },
    tools: async () => (await generateText(looping)).text,
    'streamed tools': async () => {
      let text = ''
      for await (const piece of streamText(looping).textStream) text += piece
      return text
    },
    object: async () =>
      (await generateText({ model, prompt: prompts.place, output: Output.object({ schema }) }))
        .output,
    picture: async () => {
      const content = [
        { type: 'text' as const, text: prompts.picture },
        { type: 'file' as const, data: Buffer.from(picture, 'base64'), mediaType: 'image/png' },
      ]
      return (await generateText({ model, messages: [{ role: 'user', content }] })).text
    },
  }
}
