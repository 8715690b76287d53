import { Agent, imageGenerationTool, OpenAIProvider, Runner, tool } from '@openai/agents'
import OpenAI from 'openai'
import { z } from 'zod'
import { imagePrompts, type Asked, type ImageProgram } from '../calls.ts'

export function calls({ baseURL, apiKey, model, api, picture, prompts }: Asked) {
  const openAIClient = new OpenAI({ baseURL, apiKey, maxRetries: 0 })
  const modelProvider = new OpenAIProvider({ openAIClient, useResponses: api === 'responses' })
  const runner = new Runner({ modelProvider, tracingDisabled: true })
  const weather = tool({
    name: 'weather',
    description: 'Tells the weather.',
    parameters: z.object({ city: z.string() }),
    execute: async ({ city }) => `21 degrees in ${city}`,
  })
  const plain = new Agent({ name: 'House', instructions: 'Be brief.', model })
  const able = new Agent({ name: 'House', instructions: 'Be brief.', model, tools: [weather] })
  const outputType = z.object({ city: z.string(), degrees: z.number() })
  const exact = new Agent({ name: 'House', instructions: 'Be brief.', model, outputType })
  const streamed = async (agent: typeof plain | typeof able, prompt: string) => {
    const result = await runner.run(agent, prompt, { stream: true })
    let text = ''
    for await (const piece of result.toTextStream()) text += piece
    await result.completed
    return text
  }
  return {
    text: async () => (await runner.run(plain, prompts.text)).finalOutput,
    stream: () => streamed(plain, prompts.text),
    talk: async () => {
      const question = { role: 'user' as const, content: prompts.text }
      const { history } = await runner.run(plain, [question])
      return (await runner.run(plain, [...history, question])).finalOutput
    },
    tools: async () => (await runner.run(able, prompts.weather)).finalOutput,
    'streamed tools': () => streamed(able, prompts.weather),
    object: async () => (await runner.run(exact, prompts.place)).finalOutput,
    picture: async () => {
      const content = [
        { type: 'input_text' as const, text: prompts.picture },
        { type: 'input_image' as const, image: `data:image/png;base64,${picture}` },
      ]
      return (await runner.run(plain, [{ role: 'user', content }])).finalOutput
    },
    error: () =>
      runner.run(plain, prompts.refused).catch(({ status }: { status?: number }) => status),
    cancel: async () => {
      const leaving = new AbortController()
      const { signal } = leaving
      const result = await runner.run(plain, prompts.endless, { stream: true, signal })
      let text = ''
      try {
        for await (const piece of result.toTextStream()) {
          text += piece
          leaving.abort()
        }
      } catch (error) {
        if (!signal.aborted) throw error
      }
      return text
    },
  }
}

export const images: ImageProgram['images'] = ({ baseURL, apiKey, model, imageModel }) => {
  const openAIClient = new OpenAI({ baseURL, apiKey, maxRetries: 0 })
  const modelProvider = new OpenAIProvider({ openAIClient, useResponses: true })
  const runner = new Runner({ modelProvider, tracingDisabled: true })
  const tools = [imageGenerationTool({ model: imageModel })]
  const agent = new Agent({ name: 'House', instructions: 'Draw.', model, tools })
  type Result = Pick<
    Awaited<ReturnType<typeof runner.run<typeof agent>>>,
    'history' | 'finalOutput'
  >
  const seen = async ({ history, finalOutput }: Result) => {
    const made = history.find((item) => item.type === 'hosted_tool_call')
    const question = { role: 'user' as const, content: imagePrompts.next }
    const next = await runner.run(agent, [...history, question])
    return { image: made?.output, text: finalOutput, next: next.finalOutput }
  }
  return {
    whole: async () => seen(await runner.run(agent, imagePrompts.first)),
    streamed: async () => {
      const result = await runner.run(agent, imagePrompts.first, { stream: true })
      await result.completed
      return seen(result)
    },
  }
}
