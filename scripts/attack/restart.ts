import { setTimeout as sleep } from 'node:timers/promises'
import type { Attack, Context, Outcome } from './attack.ts'
import { openLine } from './connection.ts'
import { got } from './questions.ts'

const callers = 24
const beforeMs = 300

/** Stops the gateway with SIGTERM under load. Each request on a keep-alive connection must be answered. */
export const restart: Attack = { name: 'restart', startsOwn: true, run }

async function run({ start, dose }: Context): Promise<Outcome> {
  const stops = dose === 'full' ? 3 : 1
  const failures: Outcome['failures'] = []
  let tried = 0
  for (let stop = 0; stop < stops; stop++) {
    const target = await start()
    const authorization = `Bearer ${target.testKey}`
    const request = got('/v1/models/gpt-5-mini', { authorization })
    const call = async (index: number): Promise<void> => {
      const line = openLine(target.url, { isKept: true })
      for (;;) {
        try {
          const { answers, end } = await line.ask(request, { answersMax: 1 })
          tried++
          if (answers.length === 0)
            failures.push({ what: `A request got no answer (${end}).`, request })
          if (answers[0]?.headers.get('connection') === 'close' || answers.length === 0) return
        } catch {
          // The server no longer accepts connections.
          return
        }
        // Every second connection pauses between requests, as connections of a load balancer do.
        await sleep(index % 2 === 0 ? 0 : index * 10)
      }
    }
    const calls = Array.from({ length: callers }, (_, index) => call(index))
    await sleep(beforeMs)
    target.kill('SIGTERM')
    await Promise.all(calls)
    const { code } = await target.ended
    if (code !== 0) failures.push({ what: `The gateway exited with ${code}.`, request: '' })
  }
  return { tried, failures, figures: { stops } }
}
