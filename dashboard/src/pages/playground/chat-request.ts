import { ReasoningEffortValues } from '../../../../generated/client-values.ts'
import type { Answer } from './chat-stream.ts'
import { requestOf, type Request } from './image-request.ts'
import type { Input } from './inputs.tsx'
import { can, makesPictures, type Model } from './models.ts'

/** A message of the person, and each model's answer. */
export type Turn = { id: number; text: string; pictures: readonly Input[]; answers: Answer[] }

export type ChatChoice = {
  system: string
  temperature: string
  maxTokens: string
  effort: string
}

/** What the form holds. */
export type ChatForm = ChatChoice & { text: string }
export const noChat: ChatForm = { system: '', temperature: '', maxTokens: '', effort: '', text: '' }

/** Maximum number of turns in a request; older turns are not sent. */
const turnsSentMax = 20

type Said = Pick<Turn, 'text' | 'pictures'>

/** The request for one model: its conversation so far and the next message. */
export function chatRequest(
  model: Model,
  { turns, next, choice }: { turns: readonly Turn[]; next: Said; choice: ChatChoice },
): Request {
  const history = turns.slice(-turnsSentMax).flatMap((turn) => {
    const answer = turn.answers.find((one) => one.model === model.id)
    const isGood = answer?.state === 'done' && answer.text + answer.pictures.join('') !== ''
    return isGood ? [messageOf(turn), answerOf(answer)] : []
  })
  const { system, temperature, maxTokens, effort } = choice
  const draws = makesPictures(model)
  return requestOf('createChatCompletion', {
    model: model.id,
    messages: [
      ...(system.trim() === '' ? [] : [{ role: 'system', content: system }]),
      ...history,
      messageOf(next),
    ],
    ...(temperature === '' || draws || !can(model, 'accepts_temperature')
      ? {}
      : { temperature: Number(temperature) }),
    ...(maxTokens === '' || draws ? {} : { max_completion_tokens: Number(maxTokens) }),
    ...(isEffort(effort) && can(model, 'reasoning') ? { reasoning_effort: effort } : {}),
  })
}

const isEffort = (text: string) => ReasoningEffortValues.some((one) => one === text)

/** Options and inputs of the request that a model does not support. */
export function chatLacks(model: Model, pictures: number, { temperature, effort }: ChatChoice) {
  return [
    pictures > 0 && !can(model, 'vision') && 'see pictures',
    temperature !== '' && !can(model, 'accepts_temperature') && 'take a temperature',
    effort !== '' && !can(model, 'reasoning') && 'reason',
  ].filter((one) => one !== false)
}

/** The turns as the history stores them, which cannot be stopped and have no errors. */
export function endedTurns(turns: readonly Turn[]): Turn[] {
  return turns.map((turn) => {
    const ended = turn.answers.filter(({ state }) => state === 'done' || state === 'stopped')
    return { ...turn, answers: ended.map(({ stop: _stop, ...answer }) => answer) }
  })
}

function messageOf({ text, pictures }: Said): object {
  if (pictures.length === 0) return { role: 'user', content: text }
  const parts = pictures.map(({ url }) => ({ type: 'image_url', image_url: { url } }))
  return { role: 'user', content: [{ type: 'text', text }, ...parts] }
}

function answerOf({ text, pictures }: Answer): object {
  if (pictures.length === 0) return { role: 'assistant', content: text }
  const images = pictures.map((url) => ({ type: 'image_url', image_url: { url } }))
  return { role: 'assistant', content: text === '' ? null : text, images }
}
