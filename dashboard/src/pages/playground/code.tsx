import { useState } from 'preact/hooks'
import { Snippet } from '../../elements/copy.tsx'
import type { Request } from './image-request.ts'

const languages = ['curl', 'TypeScript', 'Python'] as const
type Language = (typeof languages)[number]

/** The request as it stands, as lines that work with a key in the environment. */
export function Code({ request }: { request: Request }) {
  const [language, setLanguage] = useState<Language>('curl')
  return (
    <details class="code">
      <summary>Copy as code</summary>
      <div class="row tabs" role="group" aria-label="Languages">
        {languages.map((one) => (
          <button
            key={one}
            type="button"
            class="plain small"
            aria-pressed={one === language}
            onClick={() => setLanguage(one)}
          >
            {one}
          </button>
        ))}
      </div>
      <Snippet text={codeOf(request, language, location.origin)} what={language} />
      <p class="hint">
        Put an API key into GATEWAY_API_KEY. The key of this page ends with your session.
      </p>
    </details>
  )
}

function codeOf(request: Request, language: Language, origin: string): string {
  const body = JSON.stringify(withoutBytes(request.body), null, 2)
  if (language === 'curl') {
    return `curl ${origin}${request.path} \\
  -H "Authorization: Bearer $GATEWAY_API_KEY" \\
  -H "Content-Type: application/json" \\
  -d '${body.replaceAll("'", `'"'"'`)}'`
  }
  return language === 'TypeScript'
    ? typescriptOf(request, body, origin)
    : pythonOf(request, body, origin)
}

function typescriptOf({ operation, path }: Request, body: string, origin: string): string {
  const isChat = operation === 'createChatCompletion'
  const method = operation === 'createImage' ? 'images.generate' : 'chat.completions.create'
  // The SDK sends edits as forms of files alone.
  const call =
    operation === 'createImageEdit'
      ? `client.post('${path.slice('/v1'.length)}', { body: ${body} })`
      : `client.${method}(${body})`
  const shown = isChat ? 'answer.choices[0].message' : 'answer.data'
  return `import OpenAI from 'openai'

const client = new OpenAI({
  apiKey: process.env.GATEWAY_API_KEY,
  baseURL: '${origin}/v1',
})
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
  return `import os
from openai import OpenAI

client = OpenAI(api_key=os.environ["GATEWAY_API_KEY"], base_url="${origin}/v1")
answer = ${call}
print(answer${isChat ? '.choices[0].message' : ''})`
}

/** A value as Python writes it. */
function literal(value: unknown): string {
  if (value === null) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`
  if (typeof value !== 'object') return JSON.stringify(value)
  const members = Object.entries(value).map(
    ([name, one]) => `${JSON.stringify(name)}: ${literal(one)}`,
  )
  return `{${members.join(', ')}}`
}

const urlLengthMax = 200

/** The same with an address in the place of each picture's bytes. */
export function withoutBytes(value: object): object {
  const text = JSON.stringify(value, (_, one: unknown) =>
    typeof one === 'string' && one.length > urlLengthMax && one.startsWith('data:image/')
      ? 'https://example.com/picture.png'
      : one,
  )
  return JSON.parse(text) as object
}
