import { hash } from 'node:crypto'
import { lastUserText } from '../../core/chat/prompt.ts'
import type { Dispatch } from '../transport/dispatch.ts'
import { completion, streamOut, type Identity } from './chat-answer.ts'
import { promptTokens, say, type PlayedRequest } from './chat.ts'
import { openLine, type Line } from '../transport/open-line.ts'
import { refuse } from './refuse.ts'
import {
  pictureEvents,
  pictures,
  UnreadableSource,
  type ImageBody,
  type Render,
} from './pictures.ts'
import { readScenarios, type Scene } from './scenario.ts'
import { callTools } from './tool-calls.ts'
import type { ModerationInput } from '../../core/moderation/moderation.ts'
import { numberBytes } from '../../core/embedding/embedding.ts'
import { normalized } from '../wire/vectors.ts'
import { chanceFrom } from './scene/chance.ts'
import { countTokens, tokensOf } from './tokens.ts'

type Options = Behaviour & {
  /** Scenarios besides those in the prompt. */
  played: string
}

type Behaviour = {
  /** The index of the model's route; the scenario `first-route-fails` applies to index 0. */
  routeIndex: number
  render: Render
  clock: () => number
}

/** An OpenAI-shaped vendor inside the process, which follows the scenarios in a prompt. */
export function sandboxUpstream(options: Behaviour): Dispatch {
  return (request, receiver) => {
    const line = openLine(receiver)
    receiver.sent?.()
    const { body: sent = '' } = request
    const text = typeof sent === 'string' ? sent : sent.join('')
    const answer = answers[request.path] ?? answerPictures
    answer(line, text, { ...options, played: request.played ?? '' }).catch((error: unknown) => {
      if (error instanceof UnreadableSource) refuse(line, 400, error.message, unreadable)
      else line.cut(error)
    })
  }
}

const unreadable = { code: 'invalid_image' }

const answers: Readonly<Record<string, typeof answerChat>> = {
  '/chat/completions': answerChat,
  '/embeddings': answerEmbeddings,
  '/moderations': answerModerations,
}

async function answerChat(line: Line, sent: string, options: Options): Promise<void> {
  const request = bodyOf<PlayedRequest>(sent)
  const script = readScenarios(`${options.played} ${lastUserText(request)}`, 'chat')
  if (typeof script === 'string') return invalid(line, script, 'messages')
  if (isRefused(line, request)) return
  const calls = callTools(request, script)
  if (typeof calls === 'string') return invalid(line, calls, 'messages')
  if (await misbehave(line, script, options)) return
  const createdMs = options.clock()
  const digest = hash('sha256', `${createdMs}${sent}`, 'hex')
  const identity: Identity = {
    id: `chatcmpl-${digest.slice(0, 24)}`,
    created: Math.floor(createdMs / 1000),
    model: request.model,
    system_fingerprint: `fp_${hash('sha256', request.model, 'hex').slice(0, 10)}`,
  }
  const written = { reply: say(request, calls, script), request, script, identity }
  if (request.stream === true) return streamOut(line, written)
  return line.json(completion(written), script.has('cut-stream'))
}

async function answerPictures(line: Line, sent: string, options: Options): Promise<void> {
  const body = bodyOf<ImageBody>(sent)
  const { render, clock } = options
  const how = { param: 'prompt', prompt: body.prompt, options }
  return answerWith(line, how, async (counts, script) => {
    if (body.stream === true)
      return streamPicture(line, script, pictureEvents(body, { render, counts }))
    const made = await pictures(body, { render, counts })
    return { created: Math.floor(clock() / 1000), ...made }
  })
}

/** Sends the events of a picture; the scenario `cut-stream` cuts them before the last. */
async function streamPicture(
  line: Line,
  script: Scene,
  events: AsyncGenerator<object>,
): Promise<undefined> {
  const gapMs = script.number('slow-stream') ?? 0
  let isBegun = false
  for await (const event of events) {
    if (gapMs > 0) await line.wait(gapMs)
    if (!isBegun) line.head(200, { 'content-type': 'text/event-stream' })
    isBegun = true
    if (script.has('cut-stream') && !('partial_image_index' in event)) {
      line.cut(new Error('The sandbox cuts the stream.'))
      return undefined
    }
    await line.send(`data: ${JSON.stringify(event)}\n\n`)
  }
  line.end()
  return undefined
}

async function answerEmbeddings(line: Line, sent: string, options: Options): Promise<void> {
  const body = bodyOf<EmbeddingBody>(sent)
  const how = { param: 'input', prompt: promptOf(body), options }
  return answerWith(line, how, (counts) => embeddings(body, counts))
}

async function answerModerations(line: Line, sent: string, options: Options): Promise<void> {
  const body = bodyOf<ModerationBody>(sent)
  const how = { param: 'input', prompt: textsIn(body).join('\n'), options }
  return answerWith(line, how, () => moderations(body, `modr-${options.clock()}`))
}

/** Sends what `make` returns, if it has not answered itself, unless the prompt has a scenario with another answer. */
async function answerWith(
  line: Line,
  { param, prompt, options }: { param: string; prompt: string; options: Options },
  make: (counts: boolean, script: Scene) => object | Promise<object | undefined>,
): Promise<void> {
  const asked = readScenarios(`${options.played} ${prompt}`, 'all')
  if (typeof asked === 'string') return invalid(line, asked, param)
  if (await misbehave(line, asked, options)) return
  const made = await make(!asked.has('no-usage'), asked)
  if (made !== undefined) line.json(made, asked.has('cut-stream'))
}

/** The body of a request, which is not validated, since an adapter of the gateway wrote it. */
function bodyOf<Body>(sent: string): Body {
  return JSON.parse(sent) as Body
}

function invalid(line: Line, complaint: string, param: string): void {
  refuse(line, 400, complaint, { code: 'invalid_value', param })
}

const tooLong = { code: 'context_length_exceeded', param: 'messages' }

/** Applies the prompt's delay and error scenarios; returns whether the call was answered. */
async function misbehave(line: Line, script: Scene, { routeIndex }: Options): Promise<boolean> {
  await line.wait(script.number('delay') ?? 0)
  const retryAfterSeconds = script.number('rate-limit')
  const status = script.number('status')
  if (script.has('reset')) line.cut(new Error('The sandbox resets the connection.'))
  else if (script.has('content-policy')) {
    const code = 'content_policy_violation'
    refuse(line, 400, 'The sandbox refuses this prompt as unsafe.', { code })
  } else if (script.has('context-length')) {
    refuse(line, 400, 'The sandbox finds this conversation too long.', tooLong)
  } else if (script.has('insufficient-quota')) {
    refuse(line, 429, 'The sandbox has no money left.', { code: 'insufficient_quota' })
  } else if (script.has('first-route-fails') && routeIndex === 0) {
    refuse(line, 503, 'The first route of the sandbox fails.', { code: 'overloaded' })
  } else if (retryAfterSeconds !== undefined) {
    const code = 'rate_limit_exceeded'
    refuse(line, 429, 'The sandbox limits the rate of requests.', { code, retryAfterSeconds })
  } else if (status !== undefined) {
    refuse(line, status, `The sandbox was asked for the status ${status}.`)
  } else if (script.has('malformed')) line.html('<html><body>Bad gateway</body></html>')
  else if (script.has('empty')) line.html('')
  else return false
  return true
}

/** Refuses a request in OpenAI's words. Its adapter has checked all other fields. */
function isRefused(line: Line, request: PlayedRequest): boolean {
  if ((request.top_logprobs ?? 0) > 0 && request.logprobs !== true) {
    const message = "'top_logprobs' is only allowed when 'logprobs' is enabled."
    invalid(line, message, 'top_logprobs')
    return true
  }
  const window = request.played?.contextWindow
  if (window === undefined) return false
  const read = promptTokens(request)
  const asked = request.max_completion_tokens ?? request.max_tokens ?? 0
  if (read + asked <= window) return false
  const wanted = asked > 0 ? ` (${read} in the messages, ${asked} in the completion)` : ''
  refuse(
    line,
    400,
    `This model's maximum context length is ${window} tokens. However, you requested ` +
      `${read + asked} tokens${wanted}. Please reduce the length of the messages or completion.`,
    tooLong,
  )
  return true
}

/** The members of a request that the adapter writes. */
type ModerationBody = { model: string; input: ModerationInput }

const categories = [
  'harassment',
  'harassment/threatening',
  'hate',
  'hate/threatening',
  'illicit',
  'illicit/violent',
  'self-harm',
  'self-harm/instructions',
  'self-harm/intent',
  'sexual',
  'sexual/minors',
  'violence',
  'violence/graphic',
]
const [flaggedScore, otherScore] = [0.98, 0.000_01]

/** The texts of a request, in which its scenarios are read. */
function textsIn({ input }: ModerationBody): string[] {
  if (typeof input === 'string') return [input]
  const texts = input.map((one) =>
    typeof one === 'string' ? one : one.type === 'text' ? one.text : '',
  )
  return typeof input[0] === 'string' ? texts : [texts.join('\n')]
}

/** An answer in OpenAI's form: a text is flagged for each category that it names. */
function moderations(body: ModerationBody, id: string): object {
  const results = textsIn(body).map((text) => {
    const named = (category: string) => text.toLowerCase().includes(category)
    const each = <T>(valueOf: (category: string) => T) =>
      Object.fromEntries(categories.map((category) => [category, valueOf(category)]))
    return {
      flagged: categories.some(named),
      categories: each(named),
      category_scores: each((category) => (named(category) ? flaggedScore : otherScore)),
      category_applied_input_types: each(() => ['text']),
    }
  })
  return { id, model: body.model, results }
}

/** The members of a request that the sandbox's adapter writes. */
type EmbeddingBody = {
  model: string
  input: string[] | number[][]
  dimensions: number
}

/** Characters of a text that its vector depends on, since splitting long texts takes too long. */
const readCharactersMax = 16_384
/** Maximum random change of a number: texts with the same tokens get slightly different vectors. */
const ownShare = 0.05
/** Numbers that are computed between two turns of the event loop. */
const turnNumbers = 262_144

/** The scenarios of a request are read in all its texts. */
function promptOf({ input }: EmbeddingBody): string {
  return input.filter((one) => typeof one === 'string').join('\n')
}

/** An answer in OpenAI's form; without `counts` it has no token counts. */
async function embeddings(
  { model, input, dimensions }: EmbeddingBody,
  counts: boolean,
): Promise<object> {
  const data: object[] = []
  const read = input.map((one) => (typeof one === 'string' ? one : one.join(' ')))
  for (const [index, text] of read.entries()) {
    const embedding = vectorOf(text, model, dimensions).toString('base64')
    data.push({ object: 'embedding', index, embedding })
    if ((index * dimensions) % turnNumbers > turnNumbers - dimensions) {
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  const tokens = input.reduce(
    (sum, one) => sum + (typeof one === 'string' ? countTokens(one) : one.length),
    0,
  )
  const usage = { prompt_tokens: tokens, total_tokens: tokens }
  return { object: 'list', data, model, ...(counts ? { usage } : {}) }
}

/** A vector of length one: the same for the same text, and close to those of texts with the same words. */
function vectorOf(text: string, model: string, dimensions: number): Buffer {
  const numbers = new Float64Array(dimensions)
  for (const token of tokensOf(text.slice(0, readCharactersMax).toLowerCase())) {
    const digest = hash('sha512', `${model}\n${token.trim()}`, 'buffer')
    for (let at = 0; at < digest.length; at += 4) {
      const chance = digest.readUInt32LE(at)
      numbers[(chance >>> 1) % dimensions]! += chance % 2 === 0 ? 1 : -1
    }
  }
  const own = chanceFrom(`${model}\n${text}`, 0)
  const vector = Buffer.allocUnsafeSlow(dimensions * numberBytes)
  for (const [place, number] of numbers.entries()) {
    vector.writeFloatLE(number + own.between(-ownShare, ownShare), place * numberBytes)
  }
  return normalized(vector)
}
