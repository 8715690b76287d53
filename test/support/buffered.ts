import type { TestGateway } from './gateway.ts'
import { metric } from './metric.ts'
import { until } from './until.ts'

/** The value of gateway_buffered_bytes. */
export function bufferedBytes(gateway: Pick<TestGateway, 'fetch'>): Promise<number> {
  return metric(gateway, 'gateway_buffered_bytes')
}

/** Waits until the gateway buffers nothing. */
export async function nothingBuffered(gateway: Pick<TestGateway, 'fetch'>): Promise<void> {
  await until('nothing is buffered', async () => (await bufferedBytes(gateway)) === 0)
}
