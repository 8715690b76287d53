import { ProviderFailure } from '../../core/failure.ts'
import type { ImageCall, ImageResult } from '../../core/image/image.ts'
import { noUsage } from '../../core/money/price.ts'
import { GatewayStopped } from '../../core/resilience/deadline.ts'
import { pause } from '../../core/resilience/failover.ts'
import type { Turn, VendorTask } from '../../core/turn.ts'
import { readFailure } from './answer-failure.ts'
import type { UpstreamRequest } from './dispatch.ts'
import type { Endpoint } from './endpoint.ts'
import { fetchEach } from './fetch-picture.ts'
import { receive, wholeReader, type PieceReader, type UpstreamHead } from './upstream.ts'

/** A task, as the answer to the request that began it describes it. */
export type BegunTask = Pick<VendorTask, 'id' | 'address' | 'costNanoUsd'>

/** The pictures of a task that has ended, and the charge if the vendor reports it only then. */
export type TaskResult = { addresses: readonly string[]; costNanoUsd?: number | undefined }

/** A vendor's protocol of tasks. Paths are those of the endpoint. */
export type TaskProtocol = {
  /** The request that begins a task. */
  create: UpstreamRequest
  /** The task in the answer to it. Throws a ProviderFailure if the vendor refused the request. */
  begunIn(bytes: Buffer): BegunTask
  /** The path of the state of a task; without `domain`, it may depend on the address of the task. */
  statePath(id: string, task: BegunTask): string
  /** The domain of the vendor's hosts, if its answers contain addresses of states: no other host gets its key. */
  domain?: string
  /** The result in the state; undefined while the pictures are made. Throws a ProviderFailure if the task failed. */
  resultIn(bytes: Buffer, head: UpstreamHead): TaskResult | undefined
  /**
   * For a result that is not in the state: its path, and whether the state says that it exists. `resultIn` reads the
   * answer at this path whatever its status is.
   */
  result?: { path(id: string, task: BegunTask): string; isMade(bytes: Buffer): boolean }
  /** The request that cancels a task; absent if the vendor cannot. */
  cancel?(id: string, task: BegunTask): Pick<UpstreamRequest, 'method' | 'path'>
  /** Whether a task is free of charge whose cancellation the vendor accepted; always when absent. */
  isCancelFree?(): boolean
  /** Reads an answer with another status than 200 or 202. */
  failureReader(head: UpstreamHead): PieceReader<never>
  /** The number of polls in the usual interval between two polls; 1 when absent. */
  pollsPerInterval?: number
  /** A 429 to `create` means that too many tasks run: the call waits until one has ended. */
  waitsForSlot?: true
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
/** The longest wait for a slot: a picture takes about this long. */
const slotWaitMaxMs = 4000

/**
 * Makes pictures as a task: polls it until it has ended or the signal aborts, then downloads the pictures without the
 * key. The id of a task of a job is stored; a task that an earlier process began is only polled. Throws a
 * ProviderFailure.
 */
export async function runTask(
  endpoint: Endpoint,
  call: ImageCall,
  protocol: TaskProtocol,
): Promise<ImageResult> {
  const { turn } = call
  const task = await beginTask(endpoint, call, protocol)
  const { addresses, costNanoUsd = task.costNanoUsd } = await poll(endpoint, turn, protocol, task)
  if (costNanoUsd === undefined)
    return { pictures: await fetchEach(endpoint.fetchPicture, addresses, turn) }
  const usage = { ...noUsage, reportedNanoUsd: costNanoUsd }
  return { pictures: await fetchEach(endpoint.fetchPicture, addresses, turn, usage), usage }
}

/**
 * Repeats `begin` while the vendor answers that too many pictures are being made, until the deadline of the call. A call
 * that another route may answer does not wait. Throws a ProviderFailure: at the deadline, that of the last answer.
 */
export async function whenFree<T>(
  { turn, mayWait }: Pick<ImageCall, 'turn' | 'mayWait'>,
  firstWaitMs: number,
  begin: () => Promise<T>,
): Promise<T> {
  const { signal } = turn
  for (let waitMs = firstWaitMs; ; waitMs = Math.min(2 * waitMs, slotWaitMaxMs)) {
    try {
      return await begin()
    } catch (error) {
      const failure = readFailure(error)
      if (failure.kind !== 'rate_limited' || mayWait !== true) throw failure
      await pauseIn(turn, Math.max(waitMs, 1000 * (failure.retryAfterSeconds ?? 0)))
      if (!signal.aborted) continue
      const reason = readFailure(signal.reason)
      throw reason.kind === 'timeout' ? failure : reason
    }
  }
}

async function beginTask(
  endpoint: Endpoint,
  call: ImageCall,
  protocol: TaskProtocol,
): Promise<BegunTask> {
  const { turn, target, index } = call
  const { tasks } = turn
  const begun = tasks?.begun?.find((task) => task.index === index)
  if (begun !== undefined) return begun
  if (tasks?.begun !== undefined)
    throw unknownEnd('The gateway was stopped before this task began.')
  const begin = () => ask(endpoint, turn, protocol, protocol.create, protocol.begunIn)
  const pollMs = pollMsOf(endpoint, protocol)
  const task = await (protocol.waitsForSlot ? whenFree(call, pollMs, begin) : begin())
  if (!idForm.test(task.id)) throw unknownEnd('The task of the provider has an invalid id.')
  const { provider, model, upstreamModel } = target
  await tasks?.add({ index, provider: provider.id, modelId: model.row.id, upstreamModel, ...task })
  return task
}

async function poll(
  endpoint: Endpoint,
  turn: Turn,
  protocol: TaskProtocol,
  task: BegunTask,
): Promise<TaskResult> {
  const { signal } = turn
  const { resultIn, result: elsewhere } = protocol
  const pollMs = pollMsOf(endpoint, protocol)
  let request = stateRequest(endpoint, protocol, task)
  let readsResult = elsewhere === undefined
  const madeIn = (bytes: Buffer) => (elsewhere!.isMade(bytes) ? noAddresses : undefined)
  const read = (bytes: Buffer, head: UpstreamHead) =>
    stateIn(() => (readsResult ? resultIn(bytes, head) : madeIn(bytes)))
  const ofResult = { failureReader: (head: UpstreamHead) => wholeReader((all) => read(all, head)) }
  const state = () => {
    const isElsewhere = readsResult && elsewhere !== undefined
    return ask(endpoint, turn, isElsewhere ? ofResult : protocol, request, read)
  }
  let troubles = 0
  let waitMs = pollMs
  for (let polls = 1; ; polls++) {
    await pauseIn(turn, waitMs)
    const polled = signal.aborted ? undefined : await state().catch(troubleOf)
    if (signal.aborted) throw await leave(endpoint, turn, protocol, task)
    const { trouble, failure, result } = polled!
    if (failure !== undefined) throw failure
    if (result !== undefined && readsResult) return result
    waitMs = polls < quickPolls ? pollMs : 2 * pollMs
    if (trouble === undefined) {
      troubles = 0
      if (result === undefined) continue
      readsResult = true
      request = requestOf(endpoint, { method: 'GET', path: elsewhere!.path(task.id, task) })
      waitMs = 0
      continue
    }
    const mostTroubles = trouble.kind === 'not_found' ? missesMax : troublesMax
    if (++troubles >= mostTroubles) throw unknownEnd(trouble.message, trouble)
    waitMs = Math.max(waitMs, 1000 * (trouble.retryAfterSeconds ?? 0))
  }
}

/** A cassette does not wait as the vendor did. */
function pauseIn({ signal, cassette }: Turn, delayMs: number): Promise<void> {
  return cassette?.plays === true ? Promise.resolve() : pause(delayMs, signal)
}

function pollMsOf({ limits }: Endpoint, { pollsPerInterval = 1 }: TaskProtocol): number {
  return limits.taskPollMs / pollsPerInterval
}

/**
 * The request for the state of a task. An address must belong to the vendor, since the request has its key. A proxy that
 * the operator configured is asked by the id: its key is not for the vendor's hosts.
 */
function stateRequest(
  endpoint: Endpoint,
  { domain, statePath }: TaskProtocol,
  task: BegunTask,
): UpstreamRequest {
  const { id, address } = task
  const byId = requestOf(endpoint, { method: 'GET', path: statePath(id, task) })
  if (address === undefined || domain === undefined) return byId
  const own = new URL(endpoint.baseUrl)
  const url = URL.parse(address)
  const isVendors = (at: URL) => at.hostname === domain || at.hostname.endsWith(`.${domain}`)
  const isOwn = url?.origin === own.origin
  if (url === null || !(isOwn || (isVendors(url) && url.protocol === 'https:' && url.port === '')))
    throw unknownEnd('The provider returned an address of its task outside of its domain.')
  if (!isOwn && !isVendors(own)) return byId
  const path = url.pathname + url.search
  return { ...byId, path, ...(isOwn ? { atOrigin: true } : { otherOrigin: url.origin }) }
}

/** The state of a task: a failure of the poll (`trouble`) is no failure of the task. */
type State = {
  result?: TaskResult | undefined
  failure?: ProviderFailure
  trouble?: ProviderFailure
}

const noAddresses: TaskResult = { addresses: [] }

function stateIn(read: () => TaskResult | undefined): State {
  try {
    return { result: read() }
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
 * The failure of a task whose signal has aborted. It is cancelled at the vendor, if that is possible, unless the gateway
 * stops: then another process finishes it.
 */
async function leave(
  endpoint: Endpoint,
  turn: Turn,
  protocol: TaskProtocol,
  task: BegunTask,
): Promise<ProviderFailure> {
  const reason = readFailure(turn.signal.reason)
  const cancel = protocol.cancel?.(task.id, task)
  if (cancel === undefined || reason instanceof GatewayStopped) return reason.afterSending()
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(reason), cancelTimeoutMs)
  const ownTurn = { ...turn, signal: late.signal }
  const request = requestOf(endpoint, cancel)
  // A task that was cancelled before it ran is not charged.
  const isFree = protocol.isCancelFree?.() !== false
  return ask(endpoint, ownTurn, protocol, request, () => (isFree ? reason : reason.afterSending()))
    .catch(() => reason.afterSending())
    .finally(() => clearTimeout(timer))
}

function unknownEnd(text: string, cause?: ProviderFailure): ProviderFailure {
  return new ProviderFailure('unreachable', text, { wasSent: true, cause })
}

function requestOf(
  { limits }: Endpoint,
  to: Pick<UpstreamRequest, 'method' | 'path'>,
): UpstreamRequest {
  return { ...to, headers: {}, limits }
}

function ask<T>(
  { dispatch, limits }: Endpoint,
  turn: Turn,
  { failureReader }: { failureReader(head: UpstreamHead): PieceReader<T> },
  request: UpstreamRequest,
  read: (bytes: Buffer, head: UpstreamHead) => T,
): Promise<T> {
  return receive({ dispatch, request, bytesMax: limits.jsonBytesMax }, turn, (head) =>
    head.status === 200 || head.status === 202
      ? wholeReader((bytes) => read(bytes, head))
      : failureReader(head),
  )
}
