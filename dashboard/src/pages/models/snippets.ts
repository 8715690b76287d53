import { curlOf } from '../../data/curl.ts'
import {
  programSnippets,
  pythonClient,
  typescriptClient,
  type Snippet,
} from '../../data/snippets.ts'
import type { Entry } from './entries.ts'

/** Programs that call a model unchanged, with the API key in an environment variable. */
export function snippetsFor(
  { model: { id }, modality }: Entry,
  origin: string,
): readonly Snippet[] {
  if (modality === 'moderation') return moderationSnippets(id, origin)
  if (modality === 'embedding') return embeddingSnippets(id, origin)
  return modality === 'image' ? pictureSnippets(id, origin) : programSnippets({ model: id, origin })
}

function moderationSnippets(model: string, origin: string): Snippet[] {
  const input = 'A lighthouse at dawn'
  return [
    {
      name: 'curl',
      text: curlOf(`${origin}/v1/moderations`, JSON.stringify({ model, input })),
    },
    {
      name: 'TypeScript',
      text: `${typescriptClient(origin)}
const { results } = await client.moderations.create({ model: '${model}', input: '${input}' })
console.log(results[0].flagged)`,
    },
    {
      name: 'Python',
      text: `${pythonClient(origin)}
answer = client.moderations.create(model="${model}", input="${input}")
print(answer.results[0].flagged)`,
    },
  ]
}

function embeddingSnippets(model: string, origin: string): Snippet[] {
  const input = 'A lighthouse at dawn'
  return [
    {
      name: 'curl',
      text: curlOf(`${origin}/v1/embeddings`, JSON.stringify({ model, input })),
    },
    {
      name: 'TypeScript',
      text: `${typescriptClient(origin)}
const { data } = await client.embeddings.create({ model: '${model}', input: '${input}' })
console.log(data[0].embedding)`,
    },
    {
      name: 'Python',
      text: `${pythonClient(origin)}
answer = client.embeddings.create(model="${model}", input="${input}")
print(answer.data[0].embedding)`,
    },
  ]
}

function pictureSnippets(model: string, origin: string): Snippet[] {
  const prompt = 'A lighthouse at dawn'
  return [
    {
      name: 'curl',
      text: `${curlOf(`${origin}/v1/images/generations`, JSON.stringify({ model, prompt }))} \\
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
