import type { ChatAdapter, ChatTurn } from '../../../core/chat/chat.ts'
import { readFailure, type ErrorReading } from '../../openai-compatible/failure.ts'
import { jsonRequests, withKey } from '../../transport/dispatch.ts'
import type { Endpoint } from '../../transport/endpoint.ts'
import { printedCopies, receive, wholeReader } from '../../transport/upstream.ts'
import { tokensMaxOf } from '../../wire/token-count.ts'
import { openTranslated } from '../../wire/translated-stream.ts'
import { kindOfCode, readResponse, type Reading } from './answer.ts'
import { writeResponses, type WireRequest } from './request.ts'
import { translator } from './stream.ts'

const path = '/responses'

/** Chat over OpenAI's Responses API (docs/vendors.md#openai-responses). */
export function responsesAdapter(endpoint: Endpoint): ChatAdapter {
  const { dispatch, texts, limits, coalescing } = endpoint
  const requestTo = jsonRequests(endpoint)
  const bytesMax = limits.jsonBytesMax
  return {
    prepare: (request, target) => {
      const { body, problems, warnings } = writeResponses(request, target)
      const { upstreamModel } = target
      const tokensMax = tokensMaxOf(target)
      /** Sends the request, and again without the reasoning that the vendor cannot decrypt. */
      const send = async <Answer>(
        { createdSeconds, idempotencyKey }: ChatTurn,
        ask: (sent: ReturnType<typeof requestTo>, reading: Reading) => Promise<Answer>,
      ): Promise<Answer> => {
        let isUnreadable = false
        const errors: ErrorReading = {
          texts,
          hasOtherPaths: true,
          failureKind: (complaint) => {
            isUnreadable ||= /encrypted content/i.test(complaint.message ?? '')
            return kindOfCode(complaint)
          },
        }
        const reading = { request, createdSeconds, upstreamModel, tokensMax, errors }
        const first = withKey(requestTo(path, body), 'idempotency-key', idempotencyKey)
        try {
          return await ask(first, reading)
        } catch (error) {
          const lighter = isUnreadable ? withoutThoughts(body) : undefined
          if (lighter === undefined) throw error
          return ask(requestTo(path, lighter), reading)
        }
      }
      return {
        problems,
        warnings,
        complete: (turn) =>
          send(turn, (sent, reading) => {
            const { signal, hold, traceHeaders } = turn
            const answered = { signal, hold, traceHeaders, bytesMax, copies: printedCopies }
            return receive({ dispatch, request: sent, ...answered }, (head) => {
              if (head.status !== 200) return readFailure(head, reading.errors)
              const whole = wholeReader()
              return { push: whole.push, finish: () => readResponse(whole.finish(), reading) }
            })
          }),
        stream: (turn) =>
          send(turn, (sent, reading) => {
            const { signal, hold, traceHeaders } = turn
            return openTranslated({
              dispatch,
              request: sent,
              signal,
              hold,
              traceHeaders,
              coalescing,
              limits,
              readFailure: (head) => readFailure(head, reading.errors),
              translator: () => translator({ ...reading, answerBytesMax: bytesMax }),
            })
          }),
      }
    },
  }
}

/** The request without reasoning; undefined if it has none. */
function withoutThoughts(body: WireRequest): WireRequest | undefined {
  const input = body.input.filter(({ type }) => type !== 'reasoning')
  return input.length === body.input.length ? undefined : { ...body, input }
}
