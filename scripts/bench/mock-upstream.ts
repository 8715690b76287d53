import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  pictureBase64,
  pictureModels,
  pictureReply,
  pictureToEdit,
  plainReply,
  streamPieces,
} from './replies.ts'
import { arkPicture, dashscopePicture, geminiPicture, vendorPieces } from './vendor-replies.ts'

// The upstream of all candidates. The model's name selects the answer: plain, stream-<words> (paced),
// burst-<words> (at once), image-<size>; the path selects the vendor's format.

const paceMs = 5
const eventStream = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' }

const dashscopePath = '/api/v1/services/aigc/multimodal-generation/generation'

type Question = {
  model: string
  stream?: boolean
  stream_options?: { include_usage?: boolean }
  images?: { image_url: string }[]
}

const jsonReplies = new Map<string, Buffer>([['/v1/chat/completions plain', plainReply]])
const pictures = new Map<string, Buffer>()
for (const [model, textBytes] of Object.entries(pictureModels)) {
  jsonReplies.set(`/v1/images/generations ${model}`, pictureReply(textBytes))
  jsonReplies.set(`/v1/images/edits ${model}`, pictureReply(textBytes))
  jsonReplies.set(`/v1beta/models/${model}:generateContent`, geminiPicture(textBytes))
  jsonReplies.set(`/api/v3/images/generations ${model}`, arkPicture(textBytes))
  pictures.set(`/${model}.png`, Buffer.from(pictureBase64(textBytes), 'base64'))
}
const expectedEdit = pictureToEdit()

const streams = new Map<string, { paced: boolean; pieces: Buffer[] }>()
for (const count of [20, 200])
  for (const includeUsage of [true, false]) {
    const pieces = streamPieces(count, includeUsage)
    streams.set(`stream-${count} ${includeUsage}`, { paced: true, pieces })
    streams.set(`burst-${count} ${includeUsage}`, { paced: false, pieces })
  }

for (const wire of ['anthropic', 'gemini'] as const) {
  const pieces = vendorPieces(wire, 200)
  streams.set(`${wire}-stream-200`, { paced: true, pieces })
  streams.set(`${wire}-burst-200`, { paced: false, pieces })
}

/** The stream for the path and model of a vendor. For the floor, the model's name alone selects it. */
const vendorStream = (path: string, { model }: Question) => {
  if (path === '/v1/messages') return streams.get(`anthropic-${model}`)
  const gemini = /^\/v1beta\/models\/([\w-]+):stream/.exec(path)
  return streams.get(gemini ? `gemini-${gemini[1]}` : model)
}

const answer = (path: string, question: Question, response: ServerResponse): void => {
  const { model, images } = question
  const includeUsage = question.stream_options?.include_usage === true
  const stream =
    vendorStream(path, question) ??
    (question.stream ? streams.get(`${model} ${includeUsage}`) : undefined)
  const json = jsonReplies.get(`${path} ${model}`) ?? jsonReplies.get(path)
  if (stream) sendStream(response, stream)
  else if (images && images[0]?.image_url !== expectedEdit) sendMissing(response, 'such picture')
  else if (json) sendWhole(response, json)
  else sendMissing(response, model)
}

const sendMissing = (response: ServerResponse, name: string): void => {
  response.statusCode = 404
  sendWhole(response, Buffer.from(`{"error":{"message":"No ${name} here."}}`))
}

const sendWhole = (response: ServerResponse, body: Buffer, type = 'application/json'): void => {
  response.setHeader('content-type', type)
  response.setHeader('content-length', body.length)
  response.end(body)
}

const sendStream = (
  response: ServerResponse,
  { paced, pieces }: { paced: boolean; pieces: Buffer[] },
): void => {
  response.writeHead(200, eventStream)
  // Starts streams at random times: streams in step would take less CPU time than real streams.
  if (paced) setTimeout(() => sendPaced(response, pieces), Math.random() * paceMs)
  else sendAtOnce(response, pieces)
}

// Sends each event as a chunk, and all chunks in one TCP write. Node 26 would make one chunk of them.
const sendAtOnce = (response: ServerResponse, pieces: Buffer[]): void => {
  const chunks = pieces.map((piece) => `${piece.length.toString(16)}\r\n${piece.toString()}\r\n`)
  response.flushHeaders()
  response.socket?.write(chunks.join(''))
  response.end()
}

const sendPaced = (response: ServerResponse, pieces: Buffer[]): void => {
  let next = 0
  const timer = setInterval(() => {
    const piece = pieces[next]
    next += 1
    if (next < pieces.length) response.write(piece)
    else response.end(piece)
  }, paceMs)
  response.once('close', () => clearInterval(timer))
}

// Longer than any pause of the bench: an idle connection must not close while a request travels.
const server = createServer({ keepAliveTimeout: 600_000 }, (request, response) => {
  const parts: Buffer[] = []
  request.on('data', (part: Buffer) => parts.push(part))
  request.on('end', () => {
    const { url: path = '', headers } = request
    const picture = pictures.get(path)
    if (picture) return sendWhole(response, picture, 'image/png')
    // The only callers are the bench's own processes.
    const question = JSON.parse(Buffer.concat(parts).toString()) as Question
    const address = `http://${headers.host}/${question.model}.png`
    if (path === dashscopePath) sendWhole(response, dashscopePicture(address))
    else answer(path, question, response)
  })
})

server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port))
