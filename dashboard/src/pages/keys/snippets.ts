type Given = { key: string; origin: string }
type Snippet = { name: string; text: string }

/** Lines that work as they are, for each way to use a key. */
export function snippetsFor({ key, origin }: Given): readonly Snippet[] {
  return [
    {
      name: 'curl',
      text: `curl ${origin}/v1/chat/completions \\
  -H "Authorization: Bearer ${key}" \\
  -H "Content-Type: application/json" \\
  -d '{"model": "gpt-5.4-mini", "messages": [{"role": "user", "content": "Hello"}]}'`,
    },
    {
      name: 'TypeScript',
      text: `import OpenAI from 'openai'

const client = new OpenAI({ apiKey: '${key}', baseURL: '${origin}/v1' })
const answer = await client.chat.completions.create({
  model: 'gpt-5.4-mini',
  messages: [{ role: 'user', content: 'Hello' }],
})
console.log(answer.choices[0].message.content)`,
    },
    {
      name: 'Python',
      text: `from openai import OpenAI

client = OpenAI(api_key="${key}", base_url="${origin}/v1")
answer = client.chat.completions.create(
    model="gpt-5.4-mini",
    messages=[{"role": "user", "content": "Hello"}],
)
print(answer.choices[0].message.content)`,
    },
    {
      name: 'Claude Code',
      text: `claude mcp add --transport http gateway ${origin}/mcp --header "x-api-key: ${key}"`,
    },
    {
      name: 'Cursor, VS Code',
      text: JSON.stringify(
        { mcpServers: { gateway: { url: `${origin}/mcp`, headers: { 'x-api-key': key } } } },
        null,
        2,
      ),
    },
  ]
}
