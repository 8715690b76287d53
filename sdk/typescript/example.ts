/** `npm run build && GATEWAY_URL=http://127.0.0.1:8080 GATEWAY_KEY=mag_test_... node example.ts` */
import { readFile, writeFile } from 'node:fs/promises'
import { setTimeout } from 'node:timers/promises'
import {
  createChatCompletion,
  createClient,
  createImage,
  createImageEditByForm,
  createImageJob,
  GatewayError,
  listModels,
  retrieveImageJob,
  streamChatCompletion,
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

const messages: ChatMessage[] = [{ role: 'user', content: 'Name three colours.' }]
const chat = await createChatCompletion({
  client,
  body: { model: 'gpt-5.4-mini', messages },
  throwOnError: true,
})
console.log(`Chat: ${chat.data.choices[0]?.message.content}`)

let text = ''
for await (const chunk of streamChatCompletion({
  client,
  body: { model: 'gpt-5.4-mini', messages },
  signal: AbortSignal.timeout(60_000),
})) {
  text += chunk.choices[0]?.delta.content ?? ''
}
console.log(`Stream: ${text}`)

const lighthouse = new Blob([await readFile('lighthouse.png')], { type: 'image/png' })
const edit = await createImageEditByForm({
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

const stranger = createClient({ baseUrl, auth: 'not-a-key' })
const { data, error, response } = await listModels({ client: stranger })
if (data === undefined) console.log(`Error: ${response?.status} ${error.error.code}`)

try {
  const body = { model: 'gpt-5.4-mini', messages, temperature: 9 }
  for await (const chunk of streamChatCompletion({ client, body })) console.log(chunk)
} catch (error) {
  if (!(error instanceof GatewayError)) throw error
  console.log(`Error: ${error.response.status} ${error.error.code} ${error.error.param}`)
}
