import type { Answer } from '../../http/answer.ts'
import type { OperationCall } from '../../http/operation.ts'
import type { PrintedResult } from '../content.ts'
import type { PrintedJson } from '../json-rpc.ts'
import type { Message, Params, RequestMessage } from '../messages.ts'
import type { Client } from '../sessions.ts'

type Call = OperationCall<'postMcp'>

/** Answers a request at once: its whole result as JSON. Throws a JsonRpcError. */
export type Method = (params: Params, client: Client) => string

/** The messages of one POST. */
export type Post = { isBatch: boolean; messages: readonly Message[] }

/** In what the two eras of the protocol differ (docs/tool-protocol.md#eras). */
export type Era = {
  /**
   * Throws a JsonRpcError or GatewayError where the messages or their headers are not of this era,
   * `not_found` where their session is none.
   */
  assertAllowed(post: Post, call: Call): void
  /** Who sends these messages. */
  clientOf(call: Call): Client
  /** Headers of the answer to a request. */
  headersOf(request: RequestMessage, call: Call): Answer['headers']
  methods: ReadonlyMap<string, Method>
  /** Methods whose answer is a stream that is held. */
  streams: ReadonlyMap<string, (request: RequestMessage, call: Call) => Answer>
  /** The HTTP status of an error that answers one request. */
  statusOf(code: number): number
  /** The result of a call with what each result of this era says. */
  print(result: PrintedResult): PrintedJson
  /** Whether `notifications/cancelled` ends a call; else closing its answer alone does. */
  takesCancellation: boolean
  /** Whether a call of a tool has log messages in its answer, as its `_meta` asks. */
  logsInAnswer: boolean
}
