/** Where lines to copy have the key that is not in them. */
export const keyVariable = 'GATEWAY_API_KEY'

/** A line for a shell that sends JSON to an address. */
export function curlOf(address: string, body: string, key = `$${keyVariable}`): string {
  return `curl ${address} \\
  -H "Authorization: Bearer ${key}" \\
  -H "Content-Type: application/json" \\
  -d ${quoted(body)}`
}

/** A text as one word of a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}

/** What lines ask where any model does. */
export const anyModel = 'gpt-5.4-mini'

/** A line that says hello to a model. */
export function firstCall(origin: string, model: string, key?: string): string {
  const body = `{"model": "${model}", "messages": [{"role": "user", "content": "Hello"}]}`
  return curlOf(`${origin}/v1/chat/completions`, body, key)
}
