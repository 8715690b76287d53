import { join } from 'node:path'
import type { Attack, Context, Failure, Outcome as Result } from './attack.ts'
import { bodies, type Body } from './bodies.ts'
import { attack, pauseAllowedMs, type Outcome } from './stall.ts'
import { models, startWatchedGateway } from './watched-gateway.ts'

const bytes = { full: 32 * 1024 * 1024, quick: 3 * 1024 * 1024 }

/** One of each kind, for the tests: what each is about, and why it may be slow. */
const quick: ReadonlySet<string> = new Set([
  'chat mock/any: members of the body: keys',
  'chat mock/any: logit_bias: numbers for keys',
  'chat mock/any: unknown: brackets',
  'chat mock/any: unknown: objects of other keys',
  'chat mock/any: content: escaped quotes',
  'chat mock/any: a message for each call',
  'chat claude-sonnet-4-6: properties of a schema',
  'generations: prompt: spaces within',
  'edits as a form: empty files',
  'tools: arguments: keys',
])

/** Bodies that are hard to read: over none of them the event loop stands still for long. */
export const hardBodies: Attack = { name: 'hard-bodies', run }

async function run({ dose, project }: Context): Promise<Result> {
  const gateway = await startWatchedGateway(join(project, 'src/main.ts'))
  const chosen = bodies(models).filter(
    ({ name, isHonest }) => dose === 'full' || isHonest || quick.has(name),
  )
  const outcomes: { body: Body; outcome: Outcome }[] = []
  try {
    for (const body of chosen) {
      outcomes.push({ body, outcome: await attack(gateway, body, bytes[dose]) })
    }
  } finally {
    await gateway.stop()
  }
  const honest = outcomes.flatMap(({ body, outcome }) => (body.isHonest ? outcome : []))
  const allowedMs = pauseAllowedMs(honest)
  const pauses = outcomes.filter(({ body }) => !body.isHonest).map(({ outcome }) => outcome)
  const failures = pauses.flatMap((outcome) => failureOf(outcome, allowedMs))
  const longest = Math.max(...pauses.map(({ cpuMs }) => cpuMs))
  const figures = { 'allowed ms': Math.round(allowedMs), 'longest ms': Math.round(longest) }
  return { tried: pauses.length, failures, figures }
}

function failureOf({ name, cpuMs, status }: Outcome, allowedMs: number): Failure[] {
  const request = `node scripts/attack/stall.ts --only '${name}'`
  // An answer is a number; else it is what went wrong.
  if (typeof status === 'string') return [{ what: `'${name}' is not answered: ${status}`, request }]
  if (cpuMs <= allowedMs) return []
  return [{ what: `'${name}' stops everybody for ${Math.round(cpuMs)} ms.`, request }]
}
