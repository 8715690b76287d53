import { until } from '../../test/support/until.ts'
import type { Attack, Context, Outcome } from './attack.ts'
import { askOnce } from './connection.ts'
import { got } from './questions.ts'
import { destroyAll, openUnread } from './sockets.ts'

const openFilesMax = 200
const connections = 500
const tries = { full: 5, quick: 1 }
/** A new client must get an answer within this time, while the other connections stay open. */
const reachableWithinMs = 4000
const timeoutMs = 1000

/** Opens more connections than the gateway may have descriptors. New clients must still get answers. */
export const fewDescriptors: Attack = { name: 'few-descriptors', startsOwn: true, run }

async function run({ start, dose }: Context): Promise<Outcome> {
  const target = await start({ openFilesMax })
  const request = got('/health', { connection: 'close' })
  const sockets = await openUnread(target.url, connections, '')
  const waits: number[] = []
  const failures: Outcome['failures'] = []
  for (let one = 0; one < tries[dose]; one++) {
    const startedAt = performance.now()
    try {
      await until('/health answers', () => isHealthy(target.url, request), reachableWithinMs)
    } catch {
      failures.push({ what: `No answer from /health within ${reachableWithinMs} ms.`, request })
    }
    waits.push(performance.now() - startedAt)
  }
  destroyAll(sockets)
  await target.stop()
  const longestMs = Math.max(...waits).toFixed(0)
  const figures = { connections, descriptors: openFilesMax, 'longest wait ms': longestMs }
  return { tried: tries[dose], failures, figures }
}

async function isHealthy(url: string, request: Buffer): Promise<boolean> {
  try {
    const { answers } = await askOnce(url, request, { timeoutMs })
    return answers[0]?.status === 200
  } catch {
    return false
  }
}
