import { hash } from 'node:crypto'
import { lastUserText } from '../../core/chat/prompt.ts'
import type { Dispatch } from '../transport/dispatch.ts'
import { completion, streamOut, type Identity } from './chat-answer.ts'
import { promptTokens, say } from './chat.ts'
import { embeddings, promptOf, type EmbeddingBody } from './embeddings.ts'
import { openLine, type Line } from './line.ts'
import { moderations, textsIn, type ModerationBody } from './moderations.ts'
import { pictures, UnreadableSource, type ImageBody, type Render } from './pictures.ts'
import type { PlayedRequest } from './played.ts'
import { askedRefusal, invalid, tooLong, unreadableSource, type Refusal } from './refusal.ts'
import { readScenarios, type Asked } from './scenario.ts'
import { callTools } from './tool-calls.ts'

type Options = {
  /** The index of the model's route; the scenario `first-route-fails` applies to index 0. */
  routeIndex: number
  render: Render
  clock: () => number
}

/** An OpenAI-shaped vendor inside the process, which follows the scenarios in a prompt. */
export function sandboxUpstream(options: Options): Dispatch {
  return (request, receiver) => {
    const line = openLine(receiver)
    receiver.sent?.()
    const { body: sent = '' } = request
    const text = typeof sent === 'string' ? sent : sent.join('')
    const answer = answers[request.path] ?? answerPictures
    answer(line, text, options).catch((error: unknown) => {
      if (error instanceof UnreadableSource) line.refuse(unreadableSource())
      else line.cut(error)
    })
  }
}

const answers: Readonly<Record<string, typeof answerChat>> = {
  '/chat/completions': answerChat,
  '/embeddings': answerEmbeddings,
  '/moderations': answerModerations,
}

async function answerChat(line: Line, sent: string, options: Options): Promise<void> {
  // The request is not validated, since an adapter of the gateway wrote it.
  const request = JSON.parse(sent) as PlayedRequest
  const asked = readScenarios(lastUserText(request), 'chat')
  if (typeof asked === 'string') return line.refuse(invalid(asked, 'messages'))
  const refused = playedRefusal(request)
  if (refused !== undefined) return line.refuse(refused)
  const calls = callTools(request, asked)
  if (typeof calls === 'string') return line.refuse(invalid(calls, 'messages'))
  if (await misbehave(line, asked, options)) return
  const createdMs = options.clock()
  const digest = hash('sha256', `${createdMs}${sent}`, 'hex')
  const identity: Identity = {
    id: `chatcmpl-${digest.slice(0, 24)}`,
    created: Math.floor(createdMs / 1000),
    model: request.model,
    system_fingerprint: `fp_${hash('sha256', request.model, 'hex').slice(0, 10)}`,
  }
  const written = { said: say(request, calls, asked), request, asked, identity }
  if (request.stream === true) return streamOut(line, written)
  return line.json(completion(written), asked.has('cut-stream'))
}

async function answerPictures(line: Line, sent: string, options: Options): Promise<void> {
  // The request is not validated, since an adapter of the gateway wrote it.
  const body = JSON.parse(sent) as ImageBody
  const asked = readScenarios(body.prompt, 'all')
  if (typeof asked === 'string') return line.refuse(invalid(asked, 'prompt'))
  if (await misbehave(line, asked, options)) return
  const { render, clock } = options
  const made = await pictures(body, { render, counts: !asked.has('no-usage') })
  const created = Math.floor(clock() / 1000)
  return line.json({ created, ...made }, asked.has('cut-stream'))
}

async function answerEmbeddings(line: Line, sent: string, options: Options): Promise<void> {
  // The request is not validated, since an adapter of the gateway wrote it.
  const body = JSON.parse(sent) as EmbeddingBody
  const asked = readScenarios(promptOf(body), 'all')
  if (typeof asked === 'string') return line.refuse(invalid(asked, 'input'))
  if (await misbehave(line, asked, options)) return
  return line.json(await embeddings(body, !asked.has('no-usage')), asked.has('cut-stream'))
}

async function answerModerations(line: Line, sent: string, options: Options): Promise<void> {
  // The request is not validated, since an adapter of the gateway wrote it.
  const body = JSON.parse(sent) as ModerationBody
  const asked = readScenarios(textsIn(body).join('\n'), 'all')
  if (typeof asked === 'string') return line.refuse(invalid(asked, 'input'))
  if (await misbehave(line, asked, options)) return
  return line.json(moderations(body, `modr-${options.clock()}`), asked.has('cut-stream'))
}

/** Applies the prompt's delay and error scenarios; returns whether the call was answered. */
async function misbehave(line: Line, asked: Asked, { routeIndex }: Options): Promise<boolean> {
  await line.wait(asked.number('delay') ?? 0)
  const refusal = askedRefusal(asked, routeIndex)
  if (asked.has('reset')) line.cut(new Error('The sandbox resets the connection.'))
  else if (refusal !== undefined) line.refuse(refusal)
  else if (asked.has('malformed')) line.html('<html><body>Bad gateway</body></html>')
  else if (asked.has('empty')) line.html('')
  else return false
  return true
}

/** Errors of the simulated model in OpenAI's words. Its adapter has checked all other fields. */
function playedRefusal(request: PlayedRequest): Refusal | undefined {
  if ((request.top_logprobs ?? 0) > 0 && request.logprobs !== true) {
    return invalid("'top_logprobs' is only allowed when 'logprobs' is enabled.", 'top_logprobs')
  }
  const window = request.played?.contextWindow
  if (window === undefined) return undefined
  const read = promptTokens(request)
  const asked = request.max_completion_tokens ?? request.max_tokens ?? 0
  if (read + asked <= window) return undefined
  const wanted = asked > 0 ? ` (${read} in the messages, ${asked} in the completion)` : ''
  return tooLong(
    `This model's maximum context length is ${window} tokens. However, you requested ` +
      `${read + asked} tokens${wanted}. Please reduce the length of the messages or completion.`,
  )
}
