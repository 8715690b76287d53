import { searchMembers, type Searched } from '../../wire/web-search.ts'
import type {
  ChatAnswer,
  ChatCompletion,
  ChatRequest,
  ChunkIdentity,
} from '../../../core/chat/chat.ts'
import { estimateAnswer } from '../../../core/chat/estimate.ts'
import { ProviderFailure, type FailureKind } from '../../../core/failure.ts'
import type { Target } from '../../../core/model.ts'
import type { Usage } from '../../../core/money/price.ts'
import { bodyFailure, type ErrorReading } from '../../openai-compatible/failure.ts'
import { completeIdentity } from '../../openai-compatible/members.ts'
import { countedFailure } from '../../transport/answer-failure.ts'
import { itemsOf, membersOf, type Members } from '../../../core/any-json.ts'
import { callIdOf } from '../../wire/ids.ts'
import { openAiTier, usageOf, withTier, type TokensMax } from '../../wire/token-count.ts'
import { citationsIn, searchIn, withSearchCalls } from './search.ts'
import { thoughtIn, withThoughts, type Thought } from './thoughts.ts'

/** What reading an answer needs besides its bytes. */
export type Reading = {
  request: ChatRequest
  createdSeconds: number
  upstreamModel: string
  provider: Target['provider']
  tokensMax: TokensMax
  errors: ErrorReading
}

/** Reads a whole response. Throws a ProviderFailure, with the usage that the response reports. */
export function readResponse(response: Members, reading: Reading): Omit<ChatAnswer, 'bytes'> {
  try {
    const failure = failureIn(response, reading.errors)
    if (failure !== undefined) throw failure
    return answerIn(response, reading)
  } catch (error) {
    throw countedFailure(error, readUsage(response, reading))
  }
}

/** The failure that a response object reports; undefined if it has none. */
export function failureIn(response: Members, errors: ErrorReading): ProviderFailure | undefined {
  const { error, status } = response
  if (error === undefined || error === null) {
    if (status !== 'failed') return undefined
    return new ProviderFailure('overloaded', 'The provider failed while it answered.')
  }
  return bodyFailure({ error }, errors)
}

/** Error codes of responses whose HTTP status is 200 (docs/vendors.md#openai-responses). */
const kinds: Readonly<Record<string, FailureKind>> = {
  server_error: 'overloaded',
  invalid_prompt: 'content_policy',
  bio_policy: 'content_policy',
  misalignment_policy_violation: 'content_policy',
  image_content_policy_violation: 'content_policy',
}

/** The failure kind of an error code; undefined if the status decides. */
export function kindOfCode({ code = '' }: { code?: string }): FailureKind | undefined {
  if (Object.hasOwn(kinds, code)) return kinds[code]
  // Such as `invalid_image_format`, `image_too_large` and `failed_to_download_image`.
  return /image/.test(code) ? 'rejected' : undefined
}

/** The `finish_reason` of a response. */
export function finishReasonOf(response: Members, hasCalls: boolean): string {
  const { reason } = membersOf(response['incomplete_details'])
  if (response['status'] !== 'incomplete') return hasCalls ? 'tool_calls' : 'stop'
  return reason === 'content_filter' ? 'content_filter' : 'length'
}

/** The token counts of a response; undefined if they are missing or implausible. */
export function readUsage(
  response: Members,
  { tokensMax, errors }: Pick<Reading, 'tokensMax' | 'errors'>,
): Usage | undefined {
  const counts = membersOf(response['usage'])
  const input = membersOf(counts['input_tokens_details'])
  const usage = usageOf(
    {
      input: [counts['input_tokens']],
      output: [counts['output_tokens']],
      cachedInputTokens: input['cached_tokens'],
      cacheWriteTokens: input['cache_write_tokens'],
      reasoningTokens: membersOf(counts['output_tokens_details'])['reasoning_tokens'],
    },
    tokensMax,
  )
  if (usage === undefined) return undefined
  const tiered = withTier(usage, response['service_tier'], errors.texts)
  return withSearchCalls(tiered, response['output'])
}

/** Id, date and model of the answer. */
export function identityOf(response: Members, reading: Omit<Reading, 'request'>): ChunkIdentity {
  const { createdSeconds: created, upstreamModel: model, errors } = reading
  const given = { ...response, created: response['created_at'] }
  return completeIdentity(given, { fallback: { created, model }, texts: errors.texts })
}

type Message = ChatCompletion['choices'][number]['message']

function answerIn(response: Members, reading: Reading): Omit<ChatAnswer, 'bytes'> {
  const { output } = response
  if (!Array.isArray(output)) {
    throw new ProviderFailure('malformed', 'The answer has no output.')
  }
  const message = messageIn(output, reading)
  const tier = openAiTier(response['service_tier'])
  const completion = {
    ...identityOf(response, reading),
    object: 'chat.completion' as const,
    ...(typeof tier === 'string' ? { service_tier: tier } : {}),
    choices: [
      {
        index: 0,
        message,
        logprobs: null,
        finish_reason: finishReasonOf(response, message.tool_calls !== undefined),
      },
    ],
    // openAiTier admits only the tiers of the contract.
  } as ChatCompletion
  const usage =
    readUsage(response, reading) ??
    withSearchCalls(estimateAnswer(reading.request, [message]), output)
  return { completion, usage }
}

function messageIn(output: readonly unknown[], { upstreamModel, errors }: Reading): Message {
  const texts: string[] = []
  let refusal = ''
  let thoughts: Thought[] = []
  const searched: Searched = { searches: [], citations: [] }
  const calls = output.flatMap((one) => {
    const item = membersOf(one)
    const search = searchIn(item, errors.texts)
    if (search !== undefined) searched.searches.push(search)
    const thought = thoughtIn(item)
    if (thought !== undefined) thoughts.push(thought)
    if (item['type'] === 'message') {
      const parts = itemsOf(item['content']).map(membersOf)
      const before = texts.filter((text) => text !== '').join(paragraph)
      const start = before === '' ? 0 : before.length + paragraph.length
      for (const citation of citationsIn(item, start)) searched.citations.push(citation)
      texts.push(parts.map(({ text }) => stringIn(text)).join(''))
      refusal += parts.map(({ refusal: said }) => stringIn(said)).join('')
    }
    const call = callIn(item, errors.texts)
    if (call === undefined) return []
    const before = thoughts
    thoughts = []
    return [withThoughts(call, before, upstreamModel)]
  })
  const said = texts.filter((text) => text !== '').join(paragraph)
  return {
    role: 'assistant',
    content: said === '' && (calls.length > 0 || refusal !== '') ? null : said,
    refusal: refusal === '' ? null : refusal,
    ...searchMembers(searched),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  }
}

/** Between the texts of two messages, such as a comment before a tool call and the final answer. */
export const paragraph = '\n\n'

/** The tool call in an output item; undefined for other items. */
export function callIn(item: Members, texts: Parameters<typeof callIdOf>[1]) {
  const id = callIdOf(item['call_id'], texts)
  const name = stringIn(item['name'])
  switch (item['type']) {
    case 'function_call':
      return {
        id,
        type: 'function' as const,
        function: { name, arguments: stringIn(item['arguments']) },
      }
    case 'custom_tool_call':
      return { id, type: 'custom' as const, custom: { name, input: stringIn(item['input']) } }
    default:
      return undefined
  }
}

function stringIn(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
