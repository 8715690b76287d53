/** Environment variable that holds the API key in copied commands. */
export const keyVariable = 'GATEWAY_API_KEY'

/** A curl command that posts JSON to an address. */
export function curlOf(address: string, body: string, key = `$${keyVariable}`): string {
  return `curl ${address} \\
  -H "Authorization: Bearer ${key}" \\
  -H "Content-Type: application/json" \\
  -d ${quoted(body)}`
}

/** Quotes a text as one word for a POSIX shell. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}

/** Model name in examples that work with any model. */
export const anyModel = 'gpt-5.4-mini'

/** A curl command that sends "Hello" to a model. */
export function firstCall(origin: string, model: string, key?: string): string {
  const body = `{"model": "${model}", "messages": [{"role": "user", "content": "Hello"}]}`
  return curlOf(`${origin}/v1/chat/completions`, body, key)
}
