import { firstCall, keyVariable } from './curl.ts'

export type Snippet = { name: string; text: string }
/** URL of the MCP server and an API key; without a key the client signs in with OAuth. */
export type Access = { tools: string; key?: string | undefined }

const printed = (value: unknown) => JSON.stringify(value, null, 2)
const headersOf = ({ key }: Access) => (key === undefined ? {} : { headers: { 'x-api-key': key } })

type Program = {
  origin: string
  model: string
  /** API key that the code contains; without a key the code reads an environment variable. */
  key?: string
}

/** Programs that call a model; each runs unchanged. */
export function programSnippets(given: Program): readonly Snippet[] {
  const { origin, model, key } = given
  return [
    { name: 'curl', text: firstCall(origin, model, key) },
    {
      name: 'TypeScript',
      text: `${typescriptClient(origin, key)}
const answer = await client.chat.completions.create({
  model: '${model}',
  messages: [{ role: 'user', content: 'Hello' }],
})
console.log(answer.choices[0].message.content)`,
    },
    {
      name: 'Python',
      text: `${pythonClient(origin, key)}
answer = client.chat.completions.create(
    model="${model}",
    messages=[{"role": "user", "content": "Hello"}],
)
print(answer.choices[0].message.content)`,
    },
  ]
}

/** Code that creates the client of the OpenAI SDK in TypeScript. */
export function typescriptClient(origin: string, key?: string): string {
  const text = key === undefined ? `process.env.${keyVariable}` : `'${key}'`
  return `import OpenAI from 'openai'

const client = new OpenAI({ apiKey: ${text}, baseURL: '${origin}/v1' })`
}

/** Code that creates the client of the OpenAI SDK in Python. */
export function pythonClient(origin: string, key?: string): string {
  const [imported, text] =
    key === undefined ? ['import os\n', `os.environ["${keyVariable}"]`] : ['', `"${key}"`]
  return `${imported}from openai import OpenAI

client = OpenAI(api_key=${text}, base_url="${origin}/v1")`
}

/** A JSON value as a Python literal. */
export function literal(value: unknown): string {
  if (value === null) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`
  if (typeof value !== 'object') return JSON.stringify(value)
  const members = Object.entries(value).map(
    ([name, one]) => `${JSON.stringify(name)}: ${literal(one)}`,
  )
  return `{${members.join(', ')}}`
}

/** Configuration of the MCP server for common clients (docs/connect.md#add-it-to-a-client). */
export function toolSnippets(access: Access): readonly Snippet[] {
  return [
    { name: 'Claude Code', text: claudeCode(access) },
    { name: 'Claude Desktop', text: startedProgram(access) },
    { name: 'Cursor', text: cursorFile(access) },
    { name: 'VS Code', text: codeFile(access) },
    { name: 'Others', text: plainFile(access) },
  ]
}

export function claudeCode({ tools, key }: Access): string {
  const header = key === undefined ? '' : ` --header "x-api-key: ${key}"`
  return `claude mcp add --transport http gateway ${tools}${header}`
}

export function cursorFile(access: Access): string {
  return printed({ mcpServers: { gateway: { url: access.tools, ...headersOf(access) } } })
}

/** Configuration in the form that most other clients read. */
function plainFile(access: Access): string {
  const gateway = { type: 'http', url: access.tools, ...headersOf(access) }
  return printed({ mcpServers: { gateway } })
}

/** VS Code's configuration file. It is shared with the project, so the editor asks for the key. */
export function codeFile({ tools, key }: Access): string {
  const server = { type: 'http', url: tools }
  if (key === undefined) return printed({ servers: { gateway: server } })
  const input = { type: 'promptString', id: 'key', description: 'Key of the gateway' }
  return printed({
    inputs: [{ ...input, password: true }],
    servers: { gateway: { ...server, headers: { 'x-api-key': `\${input:key}` } } },
  })
}

/** Configuration for clients that can only start local programs. */
export function startedProgram({ tools, key }: Access): string {
  const args = ['-y', 'mcp-remote', tools]
  const gateway =
    key === undefined
      ? { command: 'npx', args }
      : {
          command: 'npx',
          args: [...args, '--header', `x-api-key:\${GATEWAY_KEY}`],
          env: { GATEWAY_KEY: key },
        }
  return printed({ mcpServers: { gateway } })
}

/** A link that opens Cursor, which asks whether to add the server. */
export function cursorLink(access: Access): string {
  const config = btoa(JSON.stringify({ url: access.tools, ...headersOf(access) }))
  return `cursor://anysphere.cursor-deeplink/mcp/install?name=gateway&config=${encodeURIComponent(config)}`
}

/** A link that opens VS Code, which asks whether to add the server. */
export function codeLink({ tools }: Access): string {
  const server = { name: 'gateway', type: 'http', url: tools }
  return `vscode:mcp/install?${encodeURIComponent(JSON.stringify(server))}`
}
