import { expect } from 'chai'
import type { components } from '../../generated/types.ts'
import type { CallOptions, TestGateway } from './gateway.ts'
import { until } from './until.ts'

export type Job = components['schemas']['ImageJob']

export const jobsPath = '/v1/images/jobs'

type Asked = CallOptions & { key?: string }

/** Asks for a job, which must begin. */
export async function startJob(
  gateway: TestGateway,
  body: object,
  { headers, key = gateway.liveKey, ...init }: Asked = {},
): Promise<Job> {
  const path = 'images' in body ? '/v1/images/edits' : '/v1/images/generations'
  const asked = { prefer: 'respond-async', 'cache-control': 'no-store', ...headers }
  const response = await gateway.post(path, body, { ...init, key, headers: asked })
  const text = await response.text()
  expect(response.status, text).to.equal(202)
  const job = JSON.parse(text) as Job
  expect(response.headers.get('location')).to.equal(`${jobsPath}/${job.id}`)
  expect(response.headers.get('preference-applied')).to.equal('respond-async')
  expect(response.headers.get('retry-after')).to.equal('2')
  return job
}

export async function getJob(gateway: TestGateway, id: string, key = gateway.liveKey, query = '') {
  const response = await gateway.fetch(`${jobsPath}/${id}${query}`, { key })
  expect(response.status, await response.clone().text()).to.equal(200)
  return (await response.json()) as Job
}

/** Polls a job until it has ended. */
export async function endedJob(gateway: TestGateway, id: string, key = gateway.liveKey) {
  let job = await getJob(gateway, id, key)
  await until('the job has ended', async () => {
    job = await getJob(gateway, id, key)
    return job.status !== 'queued' && job.status !== 'in_progress'
  })
  return job
}

/** The ledger row of a job. */
export async function rowOf(gateway: TestGateway, { id }: Pick<Job, 'id'>) {
  const requestId = id.replace('imgjob', 'req')
  const rows = (await gateway.usage()).filter((row) => row.id === requestId)
  expect(rows, 'rows of the job').to.have.length.at.most(1)
  return rows[0]
}
