import { setTimeout as sleep } from 'node:timers/promises'
import { ProviderFailure } from '../../core/failure.ts'
import type { ImageCall } from '../../core/image/image.ts'
import { GatewayStopped } from '../../core/resilience/deadline.ts'
import type { Turn } from '../../core/turn.ts'
import { readFailure } from './answer-failure.ts'
import type { UpstreamRequest } from './dispatch.ts'
import type { Endpoint } from './endpoint.ts'
import { receive, wholeReader, type PieceReader, type UpstreamHead } from './upstream.ts'

/** A vendor's protocol of tasks. All addresses are paths of the endpoint, so no other host gets its key. */
export type TaskProtocol<T> = {
  /** The request that begins a task. */
  create: UpstreamRequest
  /** The id in the answer to it. Throws a ProviderFailure if the vendor refused the request. */
  idIn(bytes: Buffer): string
  /** The path of the state of a task. */
  statePath(id: string): string
  /** The result in the state of a task; undefined while it is made. Throws a ProviderFailure if it failed. */
  resultIn(bytes: Buffer): T | undefined
  /** The path that cancels a task; absent if the vendor cannot. */
  cancelPath?(id: string): string
  /** Reads an answer with another status than 200. */
  failureReader(head: UpstreamHead): PieceReader<never>
}

/** Ids become a part of the path. */
const idForm = /^[\w.-]{1,128}$/
/** Half a minute at the first interval, which most pictures take; after that it is twice as long. */
const quickPolls = 10
/** Consecutive polls without an answer: a vendor's server restarts within a minute. */
const troublesMax = 20
/** A new task may be unknown for a moment. Several keys take turns, and may belong to different accounts. */
const missesMax = 8
const cancelTimeoutMs = 5000

/**
 * Makes pictures as a task: stores its id, then polls it until it has ended or the signal aborts. A task that an
 * earlier process began is only polled. Throws a ProviderFailure.
 */
export async function runTask<T>(
  endpoint: Endpoint,
  { turn, target, index }: Pick<ImageCall, 'turn' | 'target' | 'index'>,
  protocol: TaskProtocol<T>,
): Promise<T> {
  // Adapters call this function only for a turn with tasks.
  const tasks = turn.tasks!
  const begun = tasks.begun?.find((task) => task.index === index)
  if (begun !== undefined) return poll(endpoint, turn, protocol, begun.id)
  if (tasks.begun !== undefined) throw unknownEnd('The gateway was stopped before this task began.')
  const id = await ask(endpoint, turn, protocol, protocol.create, protocol.idIn)
  if (!idForm.test(id)) throw unknownEnd('The task of the provider has an invalid id.')
  const { provider, model, upstreamModel } = target
  await tasks.add({ index, provider: provider.id, modelId: model.row.id, upstreamModel, id })
  return poll(endpoint, turn, protocol, id)
}

async function poll<T>(
  endpoint: Endpoint,
  turn: Turn,
  protocol: TaskProtocol<T>,
  id: string,
): Promise<T> {
  const { signal } = turn
  const { taskPollMs } = endpoint.limits
  const request = requestOf(endpoint, 'GET', protocol.statePath(id))
  const state = () => ask(endpoint, turn, protocol, request, (bytes) => stateIn(bytes, protocol))
  let troubles = 0
  let waitMs = taskPollMs
  for (let polls = 1; ; polls++) {
    await sleep(waitMs, undefined, { signal }).catch(() => undefined)
    const polled = signal.aborted ? undefined : await state().catch(troubleOf)
    if (signal.aborted) throw await leave(endpoint, turn, protocol, id)
    const { trouble, failure, result } = polled!
    if (failure !== undefined) throw failure
    if (result !== undefined) return result
    waitMs = polls < quickPolls ? taskPollMs : 2 * taskPollMs
    if (trouble === undefined) {
      troubles = 0
      continue
    }
    const mostTroubles = trouble.kind === 'not_found' ? missesMax : troublesMax
    if (++troubles >= mostTroubles) throw unknownEnd(trouble.message, trouble)
    waitMs = Math.max(waitMs, 1000 * (trouble.retryAfterSeconds ?? 0))
  }
}

/** The state of a task: a failure of the poll (`trouble`) is no failure of the task. */
type State<T> = {
  result?: T | undefined
  failure?: ProviderFailure
  trouble?: ProviderFailure
}

function stateIn<T>(bytes: Buffer, { resultIn }: TaskProtocol<T>): State<T> {
  try {
    return { result: resultIn(bytes) }
  } catch (error) {
    const failure = readFailure(error)
    const isOfTask = failure.kind !== 'malformed' && failure.kind !== 'not_found'
    return isOfTask ? { failure } : { trouble: failure }
  }
}

function troubleOf(error: unknown): { trouble: ProviderFailure; failure?: never; result?: never } {
  return { trouble: readFailure(error) }
}

/**
 * The failure of a task whose signal has aborted. A cancelled one is cancelled at the vendor, if that is possible; when
 * the gateway stops, another process finishes it.
 */
async function leave<T>(
  endpoint: Endpoint,
  turn: Turn,
  protocol: TaskProtocol<T>,
  id: string,
): Promise<ProviderFailure> {
  const reason = readFailure(turn.signal.reason)
  const path = protocol.cancelPath?.(id)
  const isCancelled = reason.kind === 'cancelled' && !(reason instanceof GatewayStopped)
  if (path === undefined || !isCancelled) return reason.afterSending()
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(reason), cancelTimeoutMs)
  const ownTurn = { ...turn, signal: late.signal }
  const request = requestOf(endpoint, 'POST', path)
  // A task that was cancelled before it ran is not charged.
  return ask(endpoint, ownTurn, protocol, request, () => reason)
    .catch(() => reason.afterSending())
    .finally(() => clearTimeout(timer))
}

function unknownEnd(text: string, cause?: ProviderFailure): ProviderFailure {
  return new ProviderFailure('unreachable', text, { wasSent: true, cause })
}

function requestOf({ limits }: Endpoint, method: 'GET' | 'POST', path: string): UpstreamRequest {
  return { method, path, headers: {}, limits }
}

function ask<T>(
  { dispatch, limits }: Endpoint,
  turn: Turn,
  { failureReader }: Pick<TaskProtocol<unknown>, 'failureReader'>,
  request: UpstreamRequest,
  read: (bytes: Buffer) => T,
): Promise<T> {
  return receive({ dispatch, request, bytesMax: limits.jsonBytesMax }, turn, (head) =>
    head.status === 200 ? wholeReader(read) : failureReader(head),
  )
}
