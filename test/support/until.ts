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

/**
 * Repeats a check until it passes, and returns its result; after the time limit fails as the check does. Lists,
 * counts and states of a page that loads or changes are read in such a check.
 *
 * @example
 * await eventually(async () => expect(await rows.count()).to.equal(2))
 */
export async function eventually<T>(check: () => Promise<T>, limitMs = 20_000): Promise<T> {
  const giveUpAt = performance.now() + limitMs
  for (;;) {
    try {
      return await check()
    } catch (error) {
      if (performance.now() > giveUpAt) throw error
    }
    await sleep(pauseMs)
  }
}
