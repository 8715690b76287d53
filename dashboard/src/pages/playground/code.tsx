import { curlOf, keyVariable } from '../../data/curl.ts'
import { literal, pythonClient, typescriptClient, type Snippet } from '../../data/snippets.ts'
import { CopyButton } from '../../elements/copy.tsx'
import { Snippets } from '../../elements/snippets.tsx'
import type { Request } from './image-request.ts'

type Props = {
  request: Request | undefined
  /** A link to this form; undefined when the form is too long for one. */
  link: string | undefined
}

/** The form as a link, and the request as code that reads the API key from the environment. */
export function Share({ request, link }: Props) {
  return (
    <>
      {link === undefined ? (
        <p class="hint">The form is too long for a link.</p>
      ) : (
        <CopyButton text={link} what="link" isNamed />
      )}
      {request !== undefined && (
        <details class="code">
          <summary>Copy as code</summary>
          <Snippets title="Languages" ways={waysOf(request, location.origin)} />
          <p class="hint">
            Put an API key into {keyVariable}. The key that this page uses ends with your session.
          </p>
        </details>
      )}
    </>
  )
}

function waysOf(request: Request, origin: string): readonly Snippet[] {
  const body = JSON.stringify(withoutBytes(request.body), null, 2)
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
  const { image_config: config, ...rest } = withoutBytes(sent) as { image_config?: object }
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

const urlLengthMax = 200

/** Copies the request with an example URL in place of each picture's data URL. */
export function withoutBytes(value: object): object {
  const text = JSON.stringify(value, (_, one: unknown) =>
    typeof one === 'string' && one.length > urlLengthMax && one.startsWith('data:image/')
      ? 'https://example.com/picture.png'
      : one,
  )
  return JSON.parse(text) as object
}
