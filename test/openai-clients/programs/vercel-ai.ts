import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { APICallError, generateText, isStepCount, Output, streamText, tool } from 'ai'
import { z } from 'zod'
import { imagePrompts, type Asked, type ImageProgram } from '../calls.ts'

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
    error: () =>
      generateText({ model, prompt: prompts.refused }).catch((error: unknown) =>
        APICallError.isInstance(error) ? error.statusCode : error,
      ),
    cancel: async () => {
      const leaving = new AbortController()
      const asked = { model, prompt: prompts.endless, abortSignal: leaving.signal }
      let text = ''
      for await (const piece of streamText(asked).textStream) {
        text += piece
        leaving.abort()
      }
      return text
    },
  }
}

export const images: ImageProgram['images'] = ({ baseURL, apiKey, model: name, imageModel }) => {
  const house = createOpenAI({ baseURL, apiKey })
  const tools = { image_generation: house.tools.imageGeneration({ model: imageModel }) }
  const model = house(name)
  const ask = (content: string) => ({ role: 'user' as const, content })
  const asked = { model, tools, messages: [ask(imagePrompts.first)] }
  type Step = Awaited<ReturnType<typeof generateText<typeof tools>>>
  const seen = async ({
    text,
    toolResults,
    response,
  }: Pick<Step, 'text' | 'toolResults' | 'response'>) => {
    const messages = [...asked.messages, ...response.messages, ask(imagePrompts.next)]
    const next = await generateText({ model, tools, messages })
    const [{ output }] = toolResults as unknown as [{ output: { result: string } }]
    return { image: output.result, text, next: next.text }
  }
  return {
    whole: async () => seen(await generateText(asked)),
    streamed: async () => {
      const { text, toolResults, response } = streamText(asked)
      return seen({ text: await text, toolResults: await toolResults, response: await response })
    },
  }
}
