import { join } from 'node:path'
import { chanceFrom } from '../../test/support/chance.ts'
import type { Attack, Context, Failure, Outcome as Result } from './attack.ts'
import { bodies, type Body } from './bodies.ts'
import { attack, pauseAllowedMs, type Outcome } from './stall.ts'
import { models, startWatchedGateway } from './watched-gateway.ts'

const bytes = { full: 16 * 1024 * 1024, quick: 3 * 1024 * 1024 }

/** Names of the bodies that the tests send: one of each kind. */
const quick: ReadonlySet<string> = new Set([
  'chat mock/any: members of the body: keys',
  'chat mock/any: logit_bias: numbers for keys',
  'chat mock/any: unknown: brackets',
  'chat mock/any: unknown: objects of different keys',
  'chat mock/any: content: escaped quotes',
  'chat mock/any: a message for each call',
  'chat claude-sonnet-4-6: properties of a schema',
  'generations: prompt: spaces within',
  'edits as a form: empty files',
  'tools: arguments: keys',
])

/**
 * Sends bodies that are slow to parse, in the order of the seed, until time is up. No body may block the
 * event loop for long. `node scripts/attack/stall.ts` sends all of them.
 */
export const hardBodies: Attack = { name: 'hard-bodies', run }

async function run({ dose, project, seed, durationMs }: Context): Promise<Result> {
  const gateway = await startWatchedGateway(join(project, 'src/main.ts'))
  const all = bodies(models)
  const hostile = all.filter(
    ({ name, isHonest }) => !isHonest && (dose === 'full' || quick.has(name)),
  )
  const chosen = [...all.filter(({ isHonest }) => isHonest), ...shuffled(hostile, seed)]
  const outcomes: { body: Body; outcome: Outcome }[] = []
  try {
    const honestCount = chosen.length - hostile.length
    let giveUpAt = Infinity
    for (const [index, body] of chosen.entries()) {
      if (dose === 'full' && index === honestCount) giveUpAt = performance.now() + durationMs
      if (performance.now() > giveUpAt) break
      outcomes.push({ body, outcome: await attack(gateway, body, bytes[dose]) })
    }
  } finally {
    await gateway.stop()
  }
  const honest = outcomes.flatMap(({ body, outcome }) => (body.isHonest ? outcome : []))
  const allowedMs = pauseAllowedMs(honest)
  const pauses = outcomes.filter(({ body }) => !body.isHonest).map(({ outcome }) => outcome)
  const failures = pauses.flatMap((outcome) => failureOf(outcome, allowedMs))
  const longest = Math.max(0, ...pauses.map(({ cpuMs }) => cpuMs))
  const figures = {
    'allowed ms': Math.round(allowedMs),
    'longest ms': Math.round(longest),
    of: hostile.length,
  }
  return { tried: pauses.length, failures, figures }
}

function shuffled(list: readonly Body[], seed: number): Body[] {
  const chance = chanceFrom(seed)
  return list
    .map((body) => ({ body, order: chance.below(2 ** 31) }))
    .sort((one, other) => one.order - other.order)
    .map(({ body }) => body)
}

function failureOf({ name, cpuMs, status }: Outcome, allowedMs: number): Failure[] {
  const request = `node scripts/attack/stall.ts --only '${name}'`
  // `status` is the status of the answer, or a text that says why no answer came.
  if (typeof status === 'string') return [{ what: `'${name}' got no answer: ${status}`, request }]
  if (cpuMs <= allowedMs) return []
  return [{ what: `'${name}' blocks the event loop for ${Math.round(cpuMs)} ms.`, request }]
}
