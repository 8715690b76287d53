import type { IncomingMessage } from 'node:http'
import { operations, type ErrorForm, type OperationId } from '../../generated/operations.ts'
import { errorAnswer, type ErrorAnswer } from './error-answer.ts'
import { messageErrorAnswer } from './message-error.ts'

/** Paths of Anthropic's API, also those that the gateway does not have. */
const messagesPlaces = /^\/v1\/messages\//

/** The forms of errors that need no other part of the gateway. */
const own = { rest: errorAnswer, messages: messageErrorAnswer }

const ofOwnForm = operations.filter(({ errorForm }) => errorForm !== 'rest')
const pathsOfOwnForm: ReadonlyMap<string, ErrorForm> = new Map(
  ofOwnForm.flatMap(({ path, alsoAt: more, errorForm }) =>
    [path, ...more].map((one) => [one, errorForm] as const),
  ),
)
/** The prefixes of paths with parameters. */
const startsOfOwnForm = ofOwnForm
  .filter(({ path }) => path.includes('{'))
  .map(({ path, errorForm }) => ({ start: path.split('{', 1)[0]!, errorForm }))

/** Paths where OAuth clients look: also an unknown one there has an error in OAuth's format. */
const oauthPlaces = /^\/(?:oauth\/|\.well-known\/(?:oauth|openid)-)/

/**
 * Finds the error format of a path by its operations in the contract; for an unknown path, `oauth`,
 * `messages` or `rest`. `isForMessages` finds clients of the Messages API, which get its form instead of `rest`.
 */
export function errorAnswersByPath(
  others: Record<Exclude<ErrorForm, keyof typeof own>, ErrorAnswer>,
  isForMessages: (request: IncomingMessage) => boolean,
): (path: string) => ErrorAnswer {
  const rest: ErrorAnswer = (error, refused) =>
    own[isForMessages(refused.request) ? 'messages' : 'rest'](error, refused)
  const answers: Record<ErrorForm, ErrorAnswer> = { ...own, rest, ...others }
  return (path) => {
    const known = pathsOfOwnForm.get(path.replace(/\/$/, ''))
    const began = startsOfOwnForm.find(({ start }) => path.startsWith(start))
    const unknown = messagesPlaces.test(path) ? 'messages' : 'rest'
    const elsewhere = oauthPlaces.test(path) ? 'oauth' : unknown
    return answers[known ?? began?.errorForm ?? elsewhere]
  }
}

/** The form of the errors of an operation that accepts idempotency keys. */
export function errorAnswerOf(id: OperationId): typeof errorAnswer {
  const form = operations.find((operation) => operation.id === id)?.errorForm
  return form === 'messages' ? own.messages : own.rest
}
