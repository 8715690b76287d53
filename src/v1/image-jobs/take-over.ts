import type { MemoryHold } from '../../bytes/memory-budget.ts'
import type { Allowance, CallContext, Caller } from '../../core/caller.ts'
import { GatewayError, toGatewayError } from '../../core/error.ts'
import type { Gateway } from '../../core/gateway.ts'
import { noTexts } from '../../core/image/image.ts'
import type { ImageJob, JobRequest } from '../../core/image/jobs.ts'
import type { ImageInputs } from '../../core/image/work.ts'
import { Ending } from '../../core/resilience/ending.ts'
import type { Body } from '../../http/operation.ts'
import { editInputs } from '../create-image-edit.ts'
import { imageInputs } from '../create-image.ts'
import { completeJob, failJob, requestIdOf, stopped, tasksOf, type JobParts } from './run-job.ts'

type Options = JobParts & {
  /** A gateway whose calls began at this time, and are admitted already. */
  gatewayAt: (startedAt: number) => Pick<Gateway, 'find' | 'image'>
  callerOf: (keyId: string) => Promise<Caller>
  openMemory: () => MemoryHold
}

export type TakeOver = (job: ImageJob) => Promise<void>

/**
 * Finishes a job whose process has ended: polls its tasks at vendors. A job without a task fails, and is charged as
 * any call whose end is unknown: its pictures are not requested again. Never rejects.
 */
export function createTakeOver(options: Options): TakeOver {
  return async (job) => {
    const { backgroundCalls, onFault } = options
    const place = backgroundCalls.take(job.accountId, undefined)
    const ending = new Ending()
    place.runs(job.id, ending)
    const memory = options.openMemory()
    const tasks = tasksOf(job, options, job.tasks)
    try {
      memory.own(job.accountId)
      const answered = await finish(job, { ending, memory, tasks }, options)
      await completeJob(job, answered, options, memory)
    } catch (thrown) {
      const failed = { tasks: tasks.list, signal: ending.signal }
      if (!(thrown instanceof GatewayError)) onFault(thrown)
      await failJob(job, toGatewayError(thrown), failed, options).catch(onFault)
    } finally {
      memory.release()
      place.leave()
    }
  }
}

type Finishing = Pick<CallContext, 'ending' | 'memory' | 'tasks'>

async function finish(job: ImageJob, finishing: Finishing, options: Options) {
  const { request } = job.content
  if (request === undefined) throw stopped()
  const gateway = options.gatewayAt(job.createdAtMs)
  const found = await options.callerOf(job.keyId)
  const { tagBudgets: _, ...others } = found
  const [account, key, ...member] = found.allowances
  // Its money is reserved, or charged, since its first process.
  const unbudgeted = (one: Allowance): Allowance => ({ ...one, budget: null })
  const allowances = [unbudgeted(account), unbudgeted(key), ...member.map(unbudgeted)] as const
  const caller: Caller = { ...others, allowances }
  const requestId = requestIdOf(job)
  return gateway.image(inputsOf(job, request, caller, gateway), {
    ...finishing,
    caller,
    requestId,
    exchange: { requestId },
    face: 'images',
    cache: { mayRead: false, mayStore: false, ttlMs: undefined },
    tags: request.tags,
    strict: request.strict,
    fallback: request.fallback,
    allowRepeat: false,
    isRepeat: false,
    vendorKey: undefined,
  })
}

function inputsOf(
  { operation }: ImageJob,
  { body }: JobRequest,
  caller: Caller,
  gateway: Pick<Gateway, 'find'>,
): ImageInputs {
  // The bodies passed the checks of their operations before they were stored.
  return operation === 'generation'
    ? imageInputs({ body: body as Body<'createImage'>, caller }, gateway)
    : editInputs(
        { body: body as Body<'createImageEdit'>, caller, texts: noTexts, names: undefined },
        gateway,
      )
}
