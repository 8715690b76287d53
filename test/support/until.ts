import { setTimeout as sleep } from 'node:timers/promises'

const pauseMs = 10

/**
 * Polls until the answer is true; throws after the time limit.
 *
 * @example
 * await until('the row is written', async () => (await gateway.usage()).length === 1)
 */
export async function until(
  what: string,
  ask: () => boolean | Promise<boolean>,
  limitMs = 30_000,
): Promise<void> {
  const giveUpAt = performance.now() + limitMs
  while (!(await ask())) {
    if (performance.now() > giveUpAt) throw new Error(`Not within ${limitMs} ms: ${what}.`)
    await sleep(pauseMs)
  }
}
