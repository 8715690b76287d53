import type { Schemas } from './api.ts'
import { call, type Mode } from './calling.ts'

export type ImageJob = Schemas['ImageJob']

const path = '/v1/images/jobs'
type Asking = { mode: Mode; signal: AbortSignal }

/** A page of the account's jobs, newest first. */
export async function listJobs(
  query: Record<string, string>,
  asking: Asking,
): Promise<Schemas['ImageJobList']> {
  const address = `${path}?${new URLSearchParams(query).toString()}`
  return jsonOf(call(address, undefined, { ...asking, method: 'GET' }))
}

export const retrieveJob = (id: string, asking: Asking): Promise<ImageJob> =>
  jsonOf(call(pathOf(id), undefined, { ...asking, method: 'GET' }))

/** Opens the events of a job: those so far, then each as it happens. */
export const watchJob = (id: string, asking: Asking): Promise<Response> =>
  call(`${pathOf(id)}/events`, undefined, { ...asking, method: 'GET' })

export const cancelJob = (id: string, asking: Asking): Promise<ImageJob> =>
  jsonOf(call(`${pathOf(id)}/cancel`, undefined, asking))

export const deleteJob = (id: string, asking: Asking): Promise<Response> =>
  call(pathOf(id), undefined, { ...asking, method: 'DELETE' })

const pathOf = (id: string): string => `${path}/${encodeURIComponent(id)}`

async function jsonOf<T>(asked: Promise<Response>): Promise<T> {
  return (await (await asked).json()) as T
}

export const isRunning = ({ status }: ImageJob): boolean =>
  status === 'queued' || status === 'in_progress'

/** Addresses of a job's pictures on the origin of this page, whatever address the gateway has for clients. */
export function picturesOf({ result }: ImageJob): string[] {
  return (result?.data ?? []).map(({ url }) => {
    const { pathname, search } = new URL(url, location.href)
    return pathname + search
  })
}

/** Cost in dollars; null when it is unknown. */
export const costOf = (usage: { cost?: number | null } | undefined): string | null =>
  typeof usage?.cost === 'number' ? usage.cost.toFixed(nanoDecimals) : null

const nanoDecimals = 9

/** Id of the request that created the job. */
export const requestIdOf = (jobId: string): string => jobId.replace(/^imgjob_/, 'req_')
