import type { TestGateway } from './gateway.ts'
import { until } from './until.ts'

/** What the gateway says that it holds, in bytes. */
export async function bufferedBytes({ fetch }: Pick<TestGateway, 'fetch'>): Promise<number> {
  const text = await (await fetch('/metrics')).text()
  return Number(/^gateway_buffered_bytes (\d+)$/m.exec(text)?.[1])
}

/** Waits until it holds nothing any more. */
export async function nothingBuffered(gateway: Pick<TestGateway, 'fetch'>): Promise<void> {
  await until('nothing is held', async () => (await bufferedBytes(gateway)) === 0)
}
