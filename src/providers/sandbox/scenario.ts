import { nearName } from '../../core/words/near-name.ts'

/** Whether a scenario applies to chat only, or also to pictures. */
type Reach = 'chat' | 'all'

/** A whole number after the `=` of a scenario; required if there is no default, `otherwise`. */
type WholeNumber = { least: number; most: number; example: number; otherwise?: number }
type Scenario = { reach: Reach; value?: WholeNumber | 'name' }

/** All scenarios that a prompt can request; the contract describes them. */
export const scenarios = {
  status: { reach: 'all', value: { least: 400, most: 599, example: 503 } },
  'rate-limit': { reach: 'all', value: { least: 0, most: 3600, example: 20, otherwise: 1 } },
  'insufficient-quota': { reach: 'all' },
  'content-policy': { reach: 'all' },
  'context-length': { reach: 'chat' },
  'first-route-fails': { reach: 'all' },
  delay: { reach: 'all', value: { least: 0, most: 60_000, example: 2000 } },
  'slow-stream': { reach: 'all', value: { least: 1, most: 5000, example: 500, otherwise: 200 } },
  'cut-stream': { reach: 'all' },
  reset: { reach: 'all' },
  malformed: { reach: 'all' },
  empty: { reach: 'all' },
  'no-usage': { reach: 'all' },
  'tool-call': { reach: 'chat', value: 'name' },
  refusal: { reach: 'chat' },
  'content-filter': { reach: 'chat' },
  length: { reach: 'chat' },
  'no-answer': { reach: 'chat' },
} as const satisfies Readonly<Record<string, Scenario>>

type Name = keyof typeof scenarios
/** The scenarios in a prompt with their values. */
export type Scene = {
  has(name: Name): boolean
  number(name: Name): number | undefined
  /** The names of tools to call; an empty name stands for any tool. */
  tools: readonly string[]
}

const word = /\bsandbox:([a-z][a-z-]*)(?:(=)((?:[\w-]+(?:\.[\w-]+)*)?))?/gi
const byName: ReadonlyMap<string, Scenario> = new Map(Object.entries(scenarios))

/** Reads the scenarios in a prompt; returns a complaint if one is invalid. */
export function readScenarios(prompt: string, reach: Reach): Scene | string {
  const numbers = new Map<string, number>()
  const tools: string[] = []
  for (const [, written = '', equals, given = ''] of prompt.matchAll(word)) {
    const name = written.toLowerCase()
    const scenario = byName.get(name)
    if (scenario === undefined) return unknown(name, reach)
    if (reach === 'all' && scenario.reach === 'chat') {
      return `'sandbox:${name}' is for language models. ${listOf(reach)}`
    }
    const value = readValue(scenario, equals === undefined ? undefined : given)
    if (value === undefined) {
      return `${valueRule(name, scenario)} Not '${shown(name, equals, given)}'.`
    }
    if (typeof value === 'string') tools.push(value)
    else if (numbers.has(name) && numbers.get(name) !== value) {
      return `'sandbox:${name}' is given twice, with different values.`
    }
    numbers.set(name, Number(value))
  }
  return {
    has: (name) => numbers.has(name),
    number: (name) => numbers.get(name),
    tools,
  }
}

function readValue({ value }: Scenario, text: string | undefined): string | number | undefined {
  if (value === undefined) return text === undefined ? 1 : undefined
  if (value === 'name') return text === '' ? undefined : (text ?? '')
  if (text === undefined) return value.otherwise
  const number = /^\d{1,9}$/.test(text) ? Number(text) : NaN
  return number >= value.least && number <= value.most ? number : undefined
}

function valueRule(name: string, { value }: Scenario): string {
  if (value === undefined) return `'sandbox:${name}' takes no value.`
  if (value === 'name') return `'sandbox:${name}=' takes the name of a tool.`
  const { least, most, example } = value
  return `'sandbox:${name}' takes a whole number from ${least} to ${most}, as 'sandbox:${name}=${example}'.`
}

function unknown(name: string, reach: Reach): string {
  const near = nearName(name, namesOf(reach))
  const meant = near === undefined ? '' : ` Did you mean 'sandbox:${near}'?`
  return `The sandbox has no scenario '${shown(name)}'.${meant} ${listOf(reach)}`
}

function listOf(reach: Reach): string {
  return `Scenarios: ${namesOf(reach).join(', ')}.`
}

function namesOf(reach: Reach): string[] {
  const all = byName.entries().filter(([, one]) => reach === 'chat' || one.reach === 'all')
  return all.map(([name]) => name).toArray()
}

function shown(name: string, equals = '', text = ''): string {
  return `sandbox:${name}${equals}${text}`.slice(0, 60)
}
