import { operation } from '../../test/support/contract.ts'
import type { Attack, Context, Failure, Outcome } from './attack.ts'
import { askOnce } from './connection.ts'
import { dosed, type HeldLoad } from './dosed.ts'
import { hostileModels } from './hostile-vendor.ts'
import { asked, chatPath } from './questions.ts'
import { destroyAll, openUnread } from './sockets.ts'
import { answerFaults, logFaults } from './verdict.ts'

/** Hostile vendor answers: the caller must get a correct answer or error in time, without secrets. */
export const vendorAnswers: Attack = { name: 'vendor-answers', isHurried: true, run }

async function run(context: Context): Promise<Outcome> {
  const { target } = context
  const logBefore = target.log().length
  const calls = hostileModels.flatMap((model) => [false, true].map((stream) => ({ model, stream })))
  const found = await Promise.all(
    calls.map(async ({ model, stream }) => {
      const request = asked(model, target.liveKey, { stream })
      const faults = await faultsOf(context, request)
      return faults.map((what): Failure => ({ what: `${model}: ${what}`, request }))
    }),
  )
  const logged = logFaults(target.log().slice(logBefore)).map((what) => ({ what, request: '' }))
  const failures = [...found.flat(), ...logged]
  return { tried: calls.length, failures }
}

async function faultsOf({ target }: Context, request: Buffer): Promise<string[]> {
  try {
    const { answers, end } = await askOnce(target.url, request, { answersMax: 1 })
    const [answer] = answers
    // The answer may be incomplete, since the gateway cuts endless streams, but the connection must close.
    if (answer === undefined) return end === 'timeout' ? ['The answer does not end.'] : []
    return answerFaults(answer, {
      operation: operation('createChatCompletion'),
      path: chatPath,
      secrets: [target.liveKey],
      isVendorBad: true,
    })
  } catch (error) {
    return [String(error)]
  }
}

/** Many hostile answers at once: memory must not grow in proportion. */
export const manyVendorAnswers = ['long-answer', 'long-line', 'long-error', 'bomb'].map((model) =>
  dosed({
    name: `many-${model}`,
    counts: { full: 8, quick: 1 },
    hold: async ({ target }, count): Promise<HeldLoad> => {
      const request = asked(model, target.liveKey, { stream: model === 'long-line' })
      const sockets = await openUnread(target.url, count, request)
      return { release: () => destroyAll(sockets) }
    },
  }),
)
