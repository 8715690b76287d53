import { nearName } from '../../core/words/near-name.ts'

/** Whether a scenario applies to chat only, or also to pictures. */
type Reach = 'chat' | 'all'

/** The value after the `=` of a scenario; required if there is no default, `otherwise`. */
type Value =
  | { kind: 'number'; least: number; most: number; otherwise?: number }
  | { kind: 'name'; otherwise: '' }

type Scenario = {
  name: string
  reach: Reach
  value?: Value
  /** The example in the API reference. */
  example: string
  /** The effect, as described in the API reference. */
  does: string
}

/** All scenarios that a prompt can request. */
export const scenarios = [
  {
    name: 'status',
    reach: 'all',
    value: { kind: 'number', least: 400, most: 599 },
    example: 'sandbox:status=503',
    does: 'answers with this status, 400 to 599',
  },
  {
    name: 'rate-limit',
    reach: 'all',
    value: { kind: 'number', least: 0, most: 3600, otherwise: 1 },
    example: 'sandbox:rate-limit=20',
    does: 'answers 429 with `Retry-After` in seconds, at most 3600 (default 1)',
  },
  {
    name: 'insufficient-quota',
    reach: 'all',
    example: 'sandbox:insufficient-quota',
    does: 'answers 429 because the account has no credit',
  },
  {
    name: 'content-policy',
    reach: 'all',
    example: 'sandbox:content-policy',
    does: 'refuses the prompt as unsafe',
  },
  {
    name: 'context-length',
    reach: 'chat',
    example: 'sandbox:context-length',
    does: 'refuses the conversation as too long',
  },
  {
    name: 'first-route-fails',
    reach: 'all',
    example: 'sandbox:first-route-fails',
    does: 'answers 503 on the first route of the model and succeeds on the second; in the sandbox every model has two',
  },
  {
    name: 'delay',
    reach: 'all',
    value: { kind: 'number', least: 0, most: 60_000 },
    example: 'sandbox:delay=2000',
    does: 'waits this many milliseconds before it answers, at most 60000',
  },
  {
    name: 'slow-stream',
    reach: 'chat',
    value: { kind: 'number', least: 1, most: 5000, otherwise: 200 },
    example: 'sandbox:slow-stream=500',
    does: 'waits this many milliseconds before each event of a stream, at most 5000 (default 200)',
  },
  {
    name: 'cut-stream',
    reach: 'all',
    example: 'sandbox:cut-stream',
    does: 'closes the connection in the middle of the response',
  },
  {
    name: 'reset',
    reach: 'all',
    example: 'sandbox:reset',
    does: 'closes the connection before it answers',
  },
  {
    name: 'malformed',
    reach: 'all',
    example: 'sandbox:malformed',
    does: 'answers 200 with an HTML page',
  },
  {
    name: 'empty',
    reach: 'all',
    example: 'sandbox:empty',
    does: 'answers 200 with an empty body',
  },
  {
    name: 'no-usage',
    reach: 'all',
    example: 'sandbox:no-usage',
    does: 'omits the token counts',
  },
  {
    name: 'tool-call',
    reach: 'chat',
    value: { kind: 'name', otherwise: '' },
    example: 'sandbox:tool-call=get_weather',
    does: 'calls this tool of the request (default the first); repeat the word to call several tools at once',
  },
  {
    name: 'refusal',
    reach: 'chat',
    example: 'sandbox:refusal',
    does: 'answers with `refusal` instead of `content`',
  },
  {
    name: 'content-filter',
    reach: 'chat',
    example: 'sandbox:content-filter',
    does: 'ends the answer early with the finish reason `content_filter`',
  },
  {
    name: 'length',
    reach: 'chat',
    example: 'sandbox:length',
    does: 'ends the answer early with the finish reason `length`',
  },
  {
    name: 'no-answer',
    reach: 'chat',
    example: 'sandbox:no-answer',
    does: 'ends the answer without content',
  },
] as const satisfies readonly Scenario[]

type Name = (typeof scenarios)[number]['name']
/** The scenarios in a prompt with their values. */
export type Asked = {
  has(name: Name): boolean
  number(name: Name): number | undefined
  /** The names of tools to call; an empty name stands for any tool. */
  tools: readonly string[]
}

const word = /\bsandbox:([a-z][a-z-]*)(?:(=)((?:[\w-]+(?:\.[\w-]+)*)?))?/gi
const byName: ReadonlyMap<string, Scenario> = new Map(scenarios.map((one) => [one.name, one]))

/**
 * Reads the scenarios in a prompt. Returns a complaint instead if one of the scenarios is invalid.
 */
export function readScenarios(prompt: string, reach: Reach): Asked | string {
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
    if (value === undefined) return `${valueRule(scenario)} Not '${shown(name, equals, given)}'.`
    if (scenario.value?.kind === 'name') tools.push(String(value))
    if (numbers.has(name) && numbers.get(name) !== value && scenario.value?.kind !== 'name') {
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

function readValue({ value }: Scenario, given: string | undefined): string | number | undefined {
  if (value === undefined) return given === undefined ? 1 : undefined
  if (given === undefined) return value.otherwise
  if (value.kind === 'name') return given === '' ? undefined : given
  const number = /^\d{1,9}$/.test(given) ? Number(given) : NaN
  return number >= value.least && number <= value.most ? number : undefined
}

function valueRule({ name, value, example }: Scenario): string {
  if (value === undefined) return `'sandbox:${name}' takes no value.`
  if (value.kind === 'name') return `'sandbox:${name}=' takes the name of a tool.`
  const { least, most } = value
  return `'sandbox:${name}' takes a whole number from ${least} to ${most}, as '${example}'.`
}

function unknown(name: string, reach: Reach): string {
  const names = scenarios.filter((one) => isWithin(one, reach)).map((one) => one.name)
  const near = nearName(name, names)
  const meant = near === undefined ? '' : ` Did you mean 'sandbox:${near}'?`
  return `The sandbox has no scenario '${shown(name)}'.${meant} ${listOf(reach)}`
}

function listOf(reach: Reach): string {
  const all = scenarios.filter((one) => isWithin(one, reach))
  return `Scenarios: ${all.map(({ name }) => name).join(', ')}.`
}

function isWithin(scenario: Scenario, reach: Reach): boolean {
  return reach === 'chat' || scenario.reach === 'all'
}

function shown(name: string, equals = '', given = ''): string {
  return `sandbox:${name}${equals}${given}`.slice(0, 60)
}
