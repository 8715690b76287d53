import { curlOf, keyVariable } from '../../data/curl.ts'
import { literal, pythonClient, typescriptClient, type Snippet } from '../../data/snippets.ts'
import { Snippets } from '../../elements/snippets.tsx'
import type { Request } from './image-request.ts'

/** The request as code that reads the API key from the environment. */
export function Code({ request }: { request: Request }) {
  return (
    <>
      <Snippets title="Languages" ways={waysOf(request, location.origin)} />
      <p class="hint">
        Put an API key into {keyVariable}. The key that this page uses ends with your session.
      </p>
    </>
  )
}

function waysOf(request: Request, origin: string): readonly Snippet[] {
  const body = JSON.stringify(request.body, null, 2)
  return [
    { name: 'curl', text: curlOf(`${origin}${request.path}`, body) },
    { name: 'TypeScript', text: typescriptOf(request, body, origin) },
    { name: 'Python', text: pythonOf(request, body, origin) },
  ]
}

function typescriptOf({ operation, path }: Request, body: string, origin: string): string {
  const isChat = operation === 'createChatCompletion'
  const method = operation === 'createImage' ? 'images.generate' : 'chat.completions.create'
  // The SDK's method for edits uploads files only, so the code posts JSON instead.
  const call =
    operation === 'createImageEdit'
      ? `client.post('${path.slice('/v1'.length)}', { body: ${body} })`
      : `client.${method}(${body})`
  const shown = isChat ? 'answer.choices[0].message' : 'answer.data'
  return `${typescriptClient(origin)}
const answer = await ${call}
console.log(${shown})`
}

function pythonOf({ operation, path, body: sent }: Request, body: string, origin: string): string {
  const isChat = operation === 'createChatCompletion'
  const { image_config: config, ...rest } = sent as { image_config?: object }
  const named = Object.entries(rest).map(([name, value]) => `    ${name}=${literal(value)},`)
  if (config !== undefined) named.push(`    extra_body={"image_config": ${literal(config)}},`)
  const method = isChat ? 'chat.completions.create' : 'images.generate'
  const call =
    operation === 'createImageEdit'
      ? `client.post("${path.slice('/v1'.length)}", body=${literal(JSON.parse(body))}, cast_to=object)`
      : `client.${method}(\n${named.join('\n')}\n)`
  return `${pythonClient(origin)}
answer = ${call}
print(answer${isChat ? '.choices[0].message' : ''})`
}
