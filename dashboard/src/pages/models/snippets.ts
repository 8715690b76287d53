import type { Entry } from './entries.ts'

type Snippet = { name: string; text: string }

/** Lines that call a model as they are, with the key in a variable. */
export function snippetsFor({ model: { id }, modality }: Entry, origin: string): Snippet[] {
  return modality === 'image' ? pictureSnippets(id, origin) : chatSnippets(id, origin)
}

function chatSnippets(model: string, origin: string): Snippet[] {
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] })
  return [
    { name: 'curl', text: curl(`${origin}/v1/chat/completions`, body) },
    {
      name: 'TypeScript',
      text: `${typescriptClient(origin)}
const answer = await client.chat.completions.create({
  model: '${model}',
  messages: [{ role: 'user', content: 'Hello' }],
})
console.log(answer.choices[0].message.content)`,
    },
    {
      name: 'Python',
      text: `${pythonClient(origin)}
answer = client.chat.completions.create(
    model="${model}",
    messages=[{"role": "user", "content": "Hello"}],
)
print(answer.choices[0].message.content)`,
    },
  ]
}

function pictureSnippets(model: string, origin: string): Snippet[] {
  const prompt = 'A lighthouse at dawn'
  return [
    {
      name: 'curl',
      text: `${curl(`${origin}/v1/images/generations`, JSON.stringify({ model, prompt }))} \\
  | jq -r '.data[0].b64_json' | base64 --decode > picture.png`,
    },
    {
      name: 'TypeScript',
      text: `import { writeFile } from 'node:fs/promises'
${typescriptClient(origin)}
const { data } = await client.images.generate({ model: '${model}', prompt: '${prompt}' })
await writeFile('picture.png', Buffer.from(data[0].b64_json, 'base64'))`,
    },
    {
      name: 'Python',
      text: `import base64
${pythonClient(origin)}
answer = client.images.generate(model="${model}", prompt="${prompt}")
with open("picture.png", "wb") as file:
    file.write(base64.b64decode(answer.data[0].b64_json))`,
    },
  ]
}

function curl(address: string, body: string): string {
  return `curl ${address} \\
  -H "Authorization: Bearer $GATEWAY_KEY" \\
  -H "Content-Type: application/json" \\
  -d '${body}'`
}

function typescriptClient(origin: string): string {
  return `import OpenAI from 'openai'

const client = new OpenAI({ apiKey: process.env.GATEWAY_KEY, baseURL: '${origin}/v1' })`
}

function pythonClient(origin: string): string {
  return `import os
from openai import OpenAI

client = OpenAI(api_key=os.environ["GATEWAY_KEY"], base_url="${origin}/v1")`
}
