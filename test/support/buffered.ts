import type { TestGateway } from './gateway.ts'
import { metric } from './metric.ts'
import { until } from './until.ts'

/** What the gateway says that it holds, in bytes. */
export function bufferedBytes(gateway: Pick<TestGateway, 'fetch'>): Promise<number> {
  return metric(gateway, 'gateway_buffered_bytes')
}

/** Waits until it holds nothing any more. */
export async function nothingBuffered(gateway: Pick<TestGateway, 'fetch'>): Promise<void> {
  await until('nothing is held', async () => (await bufferedBytes(gateway)) === 0)
}
