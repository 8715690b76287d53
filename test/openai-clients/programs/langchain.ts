import {
  HumanMessage,
  ToolMessage,
  type AIMessageChunk,
  type BaseMessage,
} from '@langchain/core/messages'
import { tool } from '@langchain/core/tools'
import { ChatOpenAI } from '@langchain/openai'
import { z } from 'zod'
import type { Asked } from '../calls.ts'

export function calls({ baseURL, apiKey, model: name, api, picture, prompts }: Asked) {
  const model = new ChatOpenAI({
    model: name,
    apiKey,
    configuration: { baseURL },
    useResponsesApi: api === 'responses',
    maxRetries: 0,
  })
  const weather = tool(async ({ city }) => `21 degrees in ${city}`, {
    name: 'weather',
    description: 'Tells the weather.',
    schema: z.object({ city: z.string() }),
  })
  const schema = z.object({ city: z.string(), degrees: z.number() })
  const joined = async (asked: BaseMessage[], able: Pick<typeof model, 'stream'> = model) => {
    let whole: AIMessageChunk | undefined
    for await (const piece of await able.stream(asked)) whole = whole?.concat(piece) ?? piece
    return whole!
  }
  const loop = async (ask: (messages: BaseMessage[]) => Promise<AIMessageChunk>) => {
    const messages: BaseMessage[] = [new HumanMessage(prompts.weather)]
    const called = await ask(messages)
    messages.push(called)
    for (const { id, args } of called.tool_calls ?? []) {
      const content = await weather.invoke(args as { city: string })
      messages.push(new ToolMessage({ tool_call_id: id!, content }))
    }
    return (await ask(messages)).text
  }
  const able = model.bindTools([weather])
  return {
    text: async () => (await model.invoke(prompts.text)).text,
    stream: async () => (await joined([new HumanMessage(prompts.text)])).text,
    talk: async () => {
      const question = new HumanMessage(prompts.text)
      return (await model.invoke([question, await model.invoke([question]), question])).text
    },
    tools: () => loop((messages) => able.invoke(messages)),
    'streamed tools': () => loop((messages) => joined(messages, able as never)),
    object: () =>
      model
        .withStructuredOutput(schema, { method: 'jsonSchema', name: 'place' })
        .invoke(prompts.place),
    picture: async () => {
      const content = [
        { type: 'text', text: prompts.picture },
        { type: 'image_url', image_url: { url: `data:image/png;base64,${picture}` } },
      ]
      return (await model.invoke([new HumanMessage({ content })])).text
    },
    error: () => model.invoke(prompts.refused).catch(({ status }: { status?: number }) => status),
    cancel: async () => {
      const leaving = new AbortController()
      let text = ''
      try {
        for await (const piece of await model.stream(prompts.endless, { signal: leaving.signal })) {
          text += piece.text
          if (text !== '') leaving.abort()
        }
      } catch (error) {
        if (!leaving.signal.aborted) throw error
      }
      return text
    },
  }
}
