import { gzipSync } from 'node:zlib'
import sharp from 'sharp'
import { completion, doneEvent, textChunk, usageChunk } from '../../test/support/chat-answers.ts'
import { ownKey } from '../../test/support/own-endpoint.ts'
import type { ReceivedRequest, ScriptedAnswer } from '../../test/support/upstream.ts'

const filler = 'x'.repeat(64 * 1024)
const json = { 'content-type': 'application/json' }
const events = { 'content-type': 'text/event-stream' }

function* endless(piece: string): Generator<string> {
  for (;;) yield piece
}

function* then(first: string, rest: Iterable<string>): Generator<string> {
  yield first
  yield* rest
}

const absurd = [-1, 1e308, 0.5, 2 ** 60, '7', null, {}, [], true]
const absurdUsage = Object.fromEntries(
  ['prompt_tokens', 'completion_tokens', 'total_tokens', 'cost'].map((name, index) => [
    name,
    absurd[(index * 2) % absurd.length],
  ]),
)
const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`
const leak = `Incorrect API key provided: ${ownKey}. Bearer ${ownKey}`

/** Answers of a hostile vendor, by model. */
const hostileAnswers: Record<string, () => ScriptedAnswer> = {
  'echoes-key': () => ({ status: 401, body: { error: { message: leak, code: leak, type: leak } } }),
  'echoes-key-in-text': () => ({ status: 400, body: leak.repeat(50) }),
  'echoes-key-in-headers': () => ({ status: 429, headers: { 'retry-after': ownKey }, body: leak }),
  'long-error': () => ({ status: 500, headers: json, pieces: endless(filler) }),
  'long-answer': () => ({ headers: json, pieces: then('{"id":"', endless(filler)) }),
  'long-line': () => ({ headers: events, pieces: then('data: {"id":"', endless(filler)) }),
  'endless-comments': () => ({ headers: events, pieces: endless(': hello\n\n') }),
  'endless-blanks': () => ({ headers: json, pieces: endless(' \n'.repeat(1000)) }),
  'endless-calls': () => ({ headers: events, pieces: endless(callChunk()) }),
  'absurd-counts': () => completion('Hi', { usage: absurdUsage }),
  'absurd-streamed': () => ({ pieces: [textChunk('Hi'), usageChunk(absurdUsage), doneEvent] }),
  'deep-answer': () => ({ headers: json, body: deep }),
  'deep-event': () => ({ headers: events, pieces: [`data: ${deep}\n\n`, doneEvent] }),
  'deep-error': () => ({ status: 400, headers: json, body: deep }),
  bomb: () => ({ headers: { ...json, 'content-encoding': 'gzip' }, body: bomb() }),
  'bad-packing': () => ({ headers: { ...json, 'content-encoding': 'gzip' }, body: 'no' }),
  'long-retry': () => ({ status: 429, headers: { 'retry-after': '999999999999' }, body: '' }),
  redirect: () => ({ status: 307, headers: { location: 'http://169.254.169.254/' }, body: '' }),
  'bad-json': () => ({ headers: json, body: '{"choices":[{"message":{"content":"' }),
  'bad-text': () => ({ headers: json, body: Buffer.from([0x7b, 0xff, 0xfe, 0x00, 0x7d]) }),
  'null-answer': () => ({ headers: json, body: 'null' }),
  'null-choices': () => ({ headers: json, body: '{"choices":[null,null]}' }),
  'prototype-answer': () => ({ headers: json, body: '{"__proto__":{"choices":[]},"choices":{}}' }),
  'no-status': () => ({ status: 999, body: '' }),
  informed: () => ({ status: 204, body: '' }),
  'broken-off': () => ({ headers: json, body: '{"choices":', reset: 'after' }),
  reset: () => ({ reset: 'before' }),
  silent: () => ({ hang: true }),
  'silent-stream': () => ({ pieces: [textChunk('Hi')], hang: true }),
}

export const hostileModels: readonly string[] = Object.keys(hostileAnswers)

function callChunk(): string {
  const call = { index: 0, id: 'c', function: { name: 'f', arguments: 'x'.repeat(10_000) } }
  const choices = [{ index: 0, delta: { tool_calls: [call] } }]
  return `data: ${JSON.stringify({ choices })}\n\n`
}

let packed: Buffer | undefined
function bomb(): Buffer {
  packed ??= gzipSync(Buffer.alloc(256 * 1024 * 1024, ' '))
  return packed
}

let painted: Promise<string> | undefined
/** A random picture, whose base64 is about 4 MB long. */
function noise(): Promise<string> {
  const [width, height] = [1024, 1024]
  painted ??= sharp({
    create: {
      width,
      height,
      channels: 3,
      background: 'black',
      noise: { type: 'gaussian', mean: 128, sigma: 60 },
    },
  })
    .png({ compressionLevel: 1 })
    .toBuffer()
    .then((bytes) => bytes.toString('base64'))
  return painted
}
const picture = await noise()

/** The answer of the operator's server for a hostile model; undefined for other models. */
export function hostileAnswer({ path, body }: ReceivedRequest): ScriptedAnswer | undefined {
  const { model = '' } = body as { model?: string }
  if (path.includes('/images/') && model === 'large')
    return { body: { created: 1, data: [{ b64_json: picture }] } }
  if (model === 'large') return completion('word '.repeat(800_000))
  if (model === 'endless') return { pieces: endless(textChunk('word '.repeat(2000))) }
  return hostileAnswers[model]?.()
}
