import type {
  ModerationAdapter,
  ModerationInput,
  ModerationResult,
} from '../../core/moderation/moderation.ts'
import { ProviderFailure } from '../../core/failure.ts'
import { jsonRequests, withKey } from '../transport/dispatch.ts'
import { parseJson, printedCopies, receive, wholeReader } from '../transport/upstream.ts'
import { isMembers, itemsOf, membersOf, textIn } from '../../core/any-json.ts'
import type { OpenAiEndpoint } from './dialect.ts'
import { bodyFailure, readFailure } from './failure.ts'

type Moderation = ModerationResult['results'][number]

/** Moderations over `POST /moderations`. */
export function moderationAdapter(endpoint: OpenAiEndpoint): ModerationAdapter {
  const { dispatch, texts, limits, dialect = {} } = endpoint
  const requestTo = jsonRequests(endpoint)
  const reading = { texts, failureKind: dialect.failureKind }
  const bytesMax = limits.jsonBytesMax
  return {
    moderate: async ({ input, target, turn }) => {
      const plain = requestTo('/moderations', { model: target.upstreamModel, input })
      const request = withKey(plain, dialect.idempotencyHeader, turn.idempotencyKey)
      const receiving = { dispatch, request, bytesMax, copies: printedCopies }
      const body = await receive(receiving, turn, (head) =>
        head.status === 200 ? wholeReader(parseJson) : readFailure(head, reading),
      )
      const failure = bodyFailure(body, reading)
      if (failure !== undefined) throw failure
      const { results, model } = membersOf(body)
      return { results: readResults(itemsOf(results), input), servedModel: textIn(model) }
    },
  }
}

function readResults(results: readonly unknown[], input: ModerationInput): Moderation[] {
  // The parts of a list are classified together.
  const count = typeof input === 'string' || typeof input[0] === 'object' ? 1 : input.length
  if (results.length !== count) {
    throw new ProviderFailure('malformed', `The answer does not have ${count} results.`)
  }
  return results.map((result) => {
    const {
      flagged,
      categories,
      category_scores,
      category_applied_input_types = {},
    } = membersOf(result)
    if (
      typeof flagged === 'boolean' &&
      isTable(categories, (value) => typeof value === 'boolean' || value === null) &&
      isTable(category_scores, (value) => typeof value === 'number' || value === null) &&
      isTable(category_applied_input_types, isTexts)
    ) {
      return { flagged, categories, category_scores, category_applied_input_types }
    }
    throw new ProviderFailure('malformed', 'A result of the answer has no categories and scores.')
  })
}

function isTable<T>(
  table: unknown,
  isValue: (value: unknown) => value is T,
): table is Record<string, T> {
  return isMembers(table) && Object.values(table).every(isValue)
}

function isTexts(list: unknown): list is string[] {
  return Array.isArray(list) && list.every((one) => typeof one === 'string')
}
