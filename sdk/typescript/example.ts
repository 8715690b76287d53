/** `npm run build && GATEWAY_URL=http://127.0.0.1:8080 GATEWAY_KEY=mag_test_... node example.ts` */
import { readFile, writeFile } from 'node:fs/promises'
import { setTimeout } from 'node:timers/promises'
import {
  createChatCompletion,
  createClient,
  createImage,
  createImageEdit,
  createImageJob,
  GatewayError,
  listModels,
  retrieveImageJob,
  streamChatCompletion,
  streamImage,
  streamImageJob,
  streamMessage,
  streamResponse,
  type ChatMessage,
} from 'model-access-gateway-client'

const baseUrl = process.env.GATEWAY_URL
const client = createClient({ baseUrl, auth: process.env.GATEWAY_KEY })

const models = await listModels({ client, query: { limit: 3 }, throwOnError: true })
for (const { id } of models.data.data) console.log(`Model: ${id}`)

const image = await createImage({
  client,
  body: { prompt: 'A lighthouse at dusk', size: '1024x1024', output_format: 'png' },
  throwOnError: true,
})
for (const { b64_json } of image.data.data) {
  await writeFile('lighthouse.png', Buffer.from(b64_json, 'base64'))
}

const model = 'gpt-5.4-mini'
const messages: ChatMessage[] = [{ role: 'user', content: 'Name three colours.' }]
const chat = await createChatCompletion({ client, body: { model, messages }, throwOnError: true })
console.log(`Chat: ${chat.data.choices[0]?.message.content}`)

const lighthouse = new Blob([await readFile('lighthouse.png')], { type: 'image/png' })
const edit = await createImageEdit({
  client,
  body: { prompt: 'Add a boat', image: lighthouse, output_format: 'png' },
  throwOnError: true,
})
for (const { b64_json } of edit.data.data) {
  await writeFile('boat.png', Buffer.from(b64_json, 'base64'))
}

let job = await createImageJob({ client, body: { prompt: 'A lighthouse at dawn' } })
while ('object' in job && job.completed_at === null) {
  await setTimeout(2000)
  const path = { job_id: job.id }
  job = (await retrieveImageJob({ client, path, throwOnError: true })).data
}
const made = 'object' in job ? job.result : job
console.log(`Job: ${made?.data.length} picture`)

let text = ''
const signal = AbortSignal.timeout(60_000)
for await (const chunk of streamChatCompletion({ client, body: { model, messages }, signal })) {
  text += chunk.choices[0]?.delta.content ?? ''
}
console.log(`Chat stream: ${text}`)

let answer = ''
for await (const event of streamResponse({ client, body: { model, input: 'Name a colour.' } })) {
  if (event.type === 'response.output_text.delta') answer += event.delta
  if (event.type === 'response.completed') console.log(`Status: ${event.response?.status}`)
}
console.log(`Response stream: ${answer}`)

let reply = ''
for await (const event of streamMessage({
  client,
  body: { model, max_tokens: 200, messages: [{ role: 'user', content: 'Name a colour.' }] },
})) {
  if (event.type !== 'content_block_delta') continue
  if (event.delta.type === 'text_delta') reply += event.delta.text
}
console.log(`Message stream: ${reply}`)

for await (const event of streamImage({
  client,
  body: { prompt: 'A lighthouse at noon', model: 'gpt-image-2', partial_images: 2 },
})) {
  const isPartial = event.type === 'image_generation.partial_image'
  console.log(isPartial ? `Partial image: ${event.partial_image_index}` : `Image: ${event.size}`)
}

const begun = await createImageJob({ client, body: { prompt: 'A lighthouse in fog' } })
if ('object' in begun) {
  const events = streamImageJob({ client, path: { job_id: begun.id } })
  for await (const event of events) console.log(`Job stream: ${event.type}`)
}

const stranger = createClient({ baseUrl, auth: 'not-a-key' })
const { data, error } = await listModels({ client: stranger })
if (error !== undefined) console.log(`Error: ${error.status} ${error.code}`)
else console.log(`Models: ${data.data.length}`)

try {
  const body = { model, messages, temperature: 9 }
  for await (const chunk of streamChatCompletion({ client, body })) console.log(chunk)
} catch (error) {
  if (!(error instanceof GatewayError)) throw error
  console.log(`Error: ${error.status} ${error.code} ${error.param} ${error.shouldRetry}`)
  console.error(`Request: ${error.requestId}`)
}
