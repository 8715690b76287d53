import { setTimeout as turn } from 'node:timers/promises'
import type { components } from '../../generated/types.ts'
import type { TestGateway } from '../support/gateway.ts'

type Job = components['schemas']['ImageJob']
const looksMax = 1000

/** The link of a job's picture; one that is not valid if the gateway refuses jobs. */
export async function pictureLink(
  gateway: TestGateway,
  key: string,
  { job_id: id = '' }: Record<string, string>,
): Promise<{ path: Record<string, string>; query: Record<string, string> }> {
  let url = `http://gateway.test/v1/images/files/${id}?account=a&expires=1&signature=a`
  for (let look = 0; look < looksMax && !id.endsWith('000'); look++) {
    const answer = await gateway.fetch(`/v1/images/jobs/${id}`, { key }).catch(() => undefined)
    if (answer?.status !== 200) break
    const { result } = (await answer.json()) as Job
    url = result?.data[0]?.url ?? url
    if (result !== null) break
    await turn(10)
  }
  const { pathname, searchParams } = new URL(url)
  return { path: { file_id: pathname.split('/').at(-1)! }, query: Object.fromEntries(searchParams) }
}
