import { createServer, request, type ServerResponse } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { openFrame } from './frame.ts'
import { startGateway } from './gateway.ts'
import { processMiB, processPeakMiB } from './kernel-counters.ts'
import { pictureBase64 } from './replies.ts'

// Measures the peak memory of large requests and answers, and the rest 30 s later, with the flags of
// `npm start`. Usage: node scripts/bench/memory-peaks.ts [--only unreadPictures,burst8m].
// Exits with 1 above the limits.

const mebibyte = 1024 * 1024
const peakMiBMax = 572
const leftMiBMax = 95 // 100 MB
const attackMs = 10_000
const restMs = 30_000
/** The upstream ends calls after this time. Calls of disconnected clients last until then. */
const hangMs = 15_000

type Target = { port: number; key: string }
/** Resolves with the statuses of the answers; pushes sockets that stay open to `open`. */
type Scenario = (target: Target, open: Socket[]) => Promise<number[]>

const { values } = parseArgs({ options: { only: { type: 'string', default: '' } } })

const { folder, children, fail } = openFrame('memory')

const chat = '/v1/chat/completions'
const images = '/v1/images/generations'

const head = ({ key }: Target, path: string, length: number): string =>
  [
    `POST ${path} HTTP/1.1`,
    'host: gateway',
    `authorization: Bearer ${key}`,
    'content-type: application/json',
    `content-length: ${length}`,
    '\r\n',
  ].join('\r\n')

const connected = (target: Target, open: Socket[]): Socket => {
  const socket = connect(target.port, '127.0.0.1')
  socket.on('error', () => undefined)
  open.push(socket)
  return socket
}

const statusOf = (answer: Buffer): number => Number(answer.toString('latin1', 9, 12))

/** Requests a large answer and does not read the answer. */
const unread =
  (count: number, path: string, model: string): Scenario =>
  async (target, open) => {
    for (let index = 0; index < count; index += 1) {
      const asked = path === chat ? { messages: say(`m ${index}`) } : { prompt: `p ${index}` }
      const body = JSON.stringify({ model, ...asked })
      const socket = connected(target, open)
      socket.pause()
      socket.write(head(target, path, Buffer.byteLength(body)) + body)
    }
    await sleep(attackMs)
    return open.map((socket) => (socket.closed ? 0 : 1))
  }

const say = (content: string) => [{ role: 'user', content }]

/** Sends bodies of `bytes` bytes, without the last byte unless they are finished. */
const uploads =
  (count: number, bytes: number, isFinished: boolean, letter = 'x'): Scenario =>
  async (target, open) => {
    const body = Buffer.from(JSON.stringify({ model: 'mock/hang', messages: say('@') }))
    const [before, after] = [
      body.subarray(0, body.indexOf('@')),
      body.subarray(body.indexOf('@') + 1),
    ]
    const room = bytes - body.length
    // Whole characters only, since a cut character is invalid UTF-8, which the gateway refuses early.
    const letters = Buffer.alloc(room - (room % Buffer.byteLength(letter)), letter)
    const length = before.length + letters.length + after.length
    const statuses: number[] = []
    for (let index = 0; index < count; index += 1) {
      const socket = connected(target, open)
      socket.once('data', (piece: Buffer) => {
        statuses.push(statusOf(piece))
        socket.destroy()
      })
      socket.write(head(target, chat, length))
      socket.write(before)
      socket.write(letters)
      socket.write(isFinished ? after : after.subarray(1))
    }
    await sleep(attackMs)
    return statuses
  }

/** Requests `count` answers at once and reads the answers. */
const burst =
  (count: number, model: string): Scenario =>
  (target) =>
    Promise.all(
      Array.from({ length: count }, (_, index) => ask(target, { model, prompt: `p ${index}` })),
    )

/** Requests bypass the cache, whose memory has its own limit. */
const uncached = { 'cache-control': 'no-store' }

const ask = ({ port, key }: Target, body: object): Promise<number> =>
  new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      ...uncached,
    }
    const sent = request({ port, host: '127.0.0.1', path: images, method: 'POST', headers })
    sent.once('error', reject)
    sent.once('response', (response) => {
      response.resume()
      response.once('error', reject)
      response.once('end', () => resolve(response.statusCode ?? 0))
    })
    sent.end(JSON.stringify(body))
  })

const scenarios: Record<string, Scenario> = {
  unreadPictures: unread(60, images, 'mock/picture-20'),
  unreadChats: unread(60, chat, 'mock/text-20'),
  unfinishedUploads: uploads(40, 46 * mebibyte, false),
  finishedUploads: uploads(10, 46 * mebibyte, true),
  finishedWideUploads: uploads(10, 45 * mebibyte, true, 'あ'),
  burst1m5: burst(200, 'mock/picture-1.5'),
  burst8m: burst(200, 'mock/picture-8'),
}

/** Answers with as many MiB as the model's name says, or refuses after `hangMs`, which is not retried. */
const startUpstream = async (): Promise<number> => {
  const known = new Map<string, Buffer>()
  const replyOf = (model: string): Buffer => {
    const reply = known.get(model) ?? makeReply(model)
    known.set(model, reply)
    return reply
  }
  const server = createServer({ keepAliveTimeout: 600_000 }, (asked, response) => {
    let start = ''
    asked.on('data', (piece: Buffer) => {
      if (start.length < 1000) start += piece.toString('latin1', 0, 1000)
    })
    asked.on('end', () => {
      const model = /"model":"([\w.-]+)"/.exec(start)?.[1] ?? ''
      if (model === 'hang')
        setTimeout(() => response.writeHead(400).end('{"error":{"message":"No."}}'), hangMs)
      else send(response, replyOf(model))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  server.unref()
  return (server.address() as AddressInfo).port
}

const send = (response: ServerResponse, reply: Buffer): void => {
  response.setHeader('content-type', 'application/json')
  response.setHeader('content-length', reply.length)
  response.end(reply)
}

const makeReply = (model: string): Buffer => {
  const [kind, size = '1'] = model.split('-')
  const bytes = Math.floor((Number(size) * mebibyte) / 4) * 4
  if (kind === 'picture') {
    return Buffer.from(JSON.stringify({ created: 1, data: [{ b64_json: pictureBase64(bytes) }] }))
  }
  const message = { role: 'assistant', content: 'x'.repeat(bytes) }
  const choices = [{ index: 0, message, finish_reason: 'stop' }]
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
  return Buffer.from(
    JSON.stringify({ id: 'c', object: 'chat.completion', created: 1, model, choices, usage }),
  )
}

const heldBytes = async ({ port }: Target): Promise<number> => {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  return Number(/^gateway_buffered_bytes (\d+)$/m.exec(text)?.[1] ?? Number.NaN)
}

const countsOf = (statuses: readonly number[]): string =>
  [...Map.groupBy(statuses, (one) => one)]
    .map(([status, { length }]) => `${length} x ${status}`)
    .join(', ')

const measure = async (name: string, scenario: Scenario, upstreamPort: number) => {
  const { child, port, key } = await startGateway({ children, folder, upstreamPort })
  const target = { port, key }
  // Makes calls before the measurement, so that all modules are loaded and compiled.
  for (let index = 0; index < 50; index += 1)
    await ask(target, { model: 'mock/picture-0.1', prompt: `warm ${index}` })
  const startMiB = processMiB(child.processId)
  const open: Socket[] = []
  let heldMost = 0
  const watch = setInterval(() => {
    heldBytes(target).then(
      (held) => (heldMost = Math.max(heldMost, held)),
      () => undefined,
    )
  }, 200)
  const startedAt = performance.now()
  const statuses = await scenario(target, open)
  const seconds = (performance.now() - startedAt) / 1000
  clearInterval(watch)
  for (const socket of open) socket.destroy()
  await sleep(restMs)
  const peakMiB = processPeakMiB(child.processId)
  const leftMiB = processMiB(child.processId) - startMiB
  const held = await heldBytes(target)
  await children.stop(child)
  const isWithin = peakMiB <= peakMiBMax && leftMiB <= leftMiBMax && !(held > 0)
  console.log(
    `${name}: peak ${Math.round(peakMiB)} MiB, start ${Math.round(startMiB)} MiB, ` +
      `${Math.round(leftMiB)} MiB more ${restMs / 1000} s later; ` +
      `held at most ${Math.round(heldMost / mebibyte)} MiB, then ${held} bytes; ` +
      `${countsOf(statuses)} in ${seconds.toFixed(1)} s${isWithin ? '' : ' - TOO MUCH'}`,
  )
  return isWithin
}

const upstreamPort = await startUpstream()
const names = values.only === '' ? Object.keys(scenarios) : values.only.split(',')
let isWithin = true
for (const name of names) {
  const scenario = scenarios[name] ?? fail(`There is no ${name}.`)
  isWithin = (await measure(name, scenario, upstreamPort).catch(fail)) && isWithin
}
process.exit(isWithin ? 0 : 1)
