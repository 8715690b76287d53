import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

const chat = JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'any',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Yes.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
})

/** A vendor in this process that reads any request and answers a chat with one word. */
export async function startUpstream(): Promise<{ url: string; stop: () => void }> {
  const server = createServer((request, response) => {
    request.resume()
    request.once('end', () => {
      const isChat = request.url === '/v1/chat/completions'
      response.writeHead(isChat ? 200 : 400, { 'content-type': 'application/json' })
      response.end(isChat ? chat : '{"error":{"message":"No.","type":"invalid_request_error"}}')
    })
    request.once('error', () => undefined)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    stop: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}
