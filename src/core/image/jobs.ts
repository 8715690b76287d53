import type { components } from '../../../generated/types.ts'
import type { Caller, CallContext } from '../caller.ts'
import type { PictureFile } from '../picture-files.ts'
import type { VendorTask } from '../turn.ts'

type Schemas = components['schemas']

/** A picture of a job: the file that holds it, and the prompt that the vendor used. */
export type JobPicture = { file: PictureFile; revised_prompt?: string }
/** The answer of a job, with its pictures as files. */
export type JobResult = Omit<Schemas['ImageJobResult'], 'data'> & { data: readonly JobPicture[] }

/** A request that another process can begin, or finish: its body without the input pictures. */
export type JobRequest = { body: object } & Pick<CallContext, 'strict' | 'fallback' | 'tags'>

/** The content of a job, which is encrypted in the store. */
export type JobContent = {
  /** Present if the account keeps prompts. It stays when the job ends, as `settings` does. */
  prompt?: string
  settings?: Schemas['ImageJobSettings']
  /** Present until the job has ended. */
  request?: JobRequest
  result?: JobResult
  error?: Schemas['ErrorBody']
}

/** Pictures that are made without a connection. */
export type ImageJob = {
  id: string
  accountId: string
  keyId: string
  /** Undefined before the job was read from the store. */
  keyName?: string | null
  mode: Caller['mode']
  operation: Schemas['ImageJobOperation']
  model: string
  status: Schemas['ImageJobStatus']
  createdAtMs: number
  completedAtMs: number | null
  expiresAtMs: number
  /** The tasks at vendors that make its pictures. */
  tasks: readonly VendorTask[]
  content: JobContent
}

/** The end of a job, which has completed if it has a result. */
export type JobEnd = Pick<JobContent, 'result' | 'error'>

export type JobOwner = Pick<Caller, 'accountId' | 'keyId' | 'mode' | 'models'>

/**
 * The stored jobs. A caller finds those of its own account and mode, and a key that is restricted to certain
 * models its own; others are the same as missing. All functions throw a GatewayError if the store fails.
 */
export type ImageJobs = {
  /** Throws a GatewayError if no job can be stored. */
  assertOn(): void
  /** Stores a job, which this process executes: from now on a vendor may be asked. Throws `rate_limit_exceeded`. */
  begin(job: ImageJob): Promise<void>
  /** Stores the tasks of a job that this process executes. */
  setTasks(id: string, tasks: readonly VendorTask[]): Promise<void>
  /** Ends a job that this process executes, unless it has ended, and adds the files of its result. */
  end(job: ImageJob, end: JobEnd): Promise<void>
  /** Leaves a job to another process. */
  release(id: string): Promise<void>
  find(caller: JobOwner, id: string): Promise<ImageJob | undefined>
  /** The newest first, without their content. */
  list(
    caller: JobOwner,
    page: { limit: number; after?: string | undefined; status?: ImageJob['status'] | undefined },
  ): Promise<ImageJob[]>
  /** Cancels a job unless it has ended. */
  cancel(job: ImageJob): Promise<void>
  /** Deletes a job with its pictures; false if it was deleted before. */
  remove(job: ImageJob): Promise<boolean>
}
