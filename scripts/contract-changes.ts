/**
 * `npm run -s contract-changes -- <old> [<new>]`: prints as Markdown what changed in the contract, for CHANGELOG.md.
 * Each is a file or a git revision; the new one is openapi.yaml unless named. Exits with 1 when a change is breaking.
 * With `--release` alone, it keeps openapi.yaml as the contract of the last release.
 */
import { execFileSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { brotliCompressSync, brotliDecompressSync } from 'node:zlib'
import { parse } from 'yaml'

type Members = Readonly<Record<string, unknown>>
type Side = 'request' | 'answer'
type Fact = {
  /** The key of what contains it. */
  within?: string | undefined
  required: boolean
  types?: string[]
  values?: string[]
  open?: boolean
  bounds: Members
}

/** One difference between two contracts. */
export type Change = { place: string; text: string; breaking: boolean }

const semver = createRequire(import.meta.url)('semver') as {
  gte: (version: string, other: string) => boolean
  inc: (version: string, part: 'major' | 'minor' | 'patch') => string | null
}
const released = new URL('../openapi-released.json.br', import.meta.url)
const methods = ['get', 'put', 'post', 'delete', 'patch', 'head', 'options']
const lowest = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties']
const highest = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties']
const forms = ['format', 'pattern', 'multipleOf', 'uniqueItems']

const members = (value: unknown): Members =>
  typeof value === 'object' && value !== null ? (value as Members) : {}
const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])

function valuesOf(schema: Members): string[] | undefined {
  if ('const' in schema) return [JSON.stringify(schema['const'])]
  return schema['enum'] === undefined
    ? undefined
    : list(schema['enum']).map((value) => JSON.stringify(value))
}

const scalar = (schema: Members) =>
  [schema['type'] ?? 'object'].flat().every((type) => type !== 'object' && type !== 'array')

/** Facts of a contract by side and place; a schema of the components is read once for each side that reaches it. */
class ContractFacts {
  readonly facts = new Map<string, Fact>()
  readonly #document: Members

  constructor(document: Members) {
    this.#document = document
    const read = Object.entries(members(document['paths']))
    for (const [path, item] of read) this.#readPath(path, members(item))
  }

  #target(value: unknown): Members {
    const at = members(value)
    if (typeof at['$ref'] !== 'string') return at
    const parts = at['$ref'].slice(2).split('/')
    return this.#target(
      parts.reduce<unknown>(
        (node, part) => members(node)[part.replaceAll('~1', '/').replaceAll('~0', '~')],
        this.#document,
      ),
    )
  }

  #readSchema(side: Side, place: string, value: unknown, within?: string, required = false): void {
    const schema = members(value)
    const key = `${side} ${place}`
    const fact = this.facts.get(key) ?? { within, required, bounds: {} }
    const seen = this.facts.has(key)
    this.facts.set(key, fact)
    if (typeof schema['$ref'] === 'string') {
      const name = schema['$ref'].split('/').at(-1) ?? ''
      const referred = this.#target(schema)
      // A scalar is read where it is used, so that one moved to the components is no change.
      if (scalar(referred)) return this.#readSchema(side, place, referred, within, required)
      fact.types = [...(fact.types ?? []), name]
      if (!this.facts.has(`${side} ${name}`)) this.#readSchema(side, name, referred)
      return
    }
    const types = [schema['type'] ?? []].flat() as string[]
    if (types.length > 0 && !(seen && fact.types !== undefined)) fact.types = types
    fact.values ??= valuesOf(schema)
    fact.bounds = {
      ...fact.bounds,
      ...Object.fromEntries(
        [...lowest, ...highest, ...forms]
          .filter((name) => name in schema)
          .map((name) => [name, schema[name]]),
      ),
    }
    for (const [name, property] of Object.entries(members(schema['properties'])))
      this.#readSchema(
        side,
        `${place}.${name}`,
        property,
        key,
        list(schema['required']).includes(name),
      )
    if (schema['items'] !== undefined) this.#readSchema(side, `${place}[]`, schema['items'], key)
    if (typeof schema['additionalProperties'] === 'object')
      this.#readSchema(side, `${place}.*`, schema['additionalProperties'], key)
    for (const part of list(schema['allOf'])) this.#readSchema(side, place, part, within)
    this.#readAlternatives(side, place, fact, [...list(schema['anyOf']), ...list(schema['oneOf'])])
  }

  #readAlternatives(side: Side, place: string, fact: Fact, all: unknown[]): void {
    const resolved = all.map((one) => this.#target(one))
    const named = resolved.find((one) => valuesOf(one) !== undefined)
    const open = resolved.some((one) => one['type'] === 'string' && valuesOf(one) === undefined)
    if (named !== undefined && open && named['type'] === 'string') {
      fact.values = resolved.flatMap((one) => valuesOf(one) ?? [])
      fact.open = true
    }
    all.forEach((one, index) => {
      const schema = members(one)
      if (typeof schema['$ref'] === 'string') this.#readSchema(side, place, one, fact.within)
      else if (schema['type'] === 'object' || fact.open !== true) {
        fact.types = [...(fact.types ?? []), ...([schema['type'] ?? []].flat() as string[])]
        this.#readSchema(side, `${place}|${index + 1}`, one, `${side} ${place}`)
      }
    })
  }

  #readContent(side: Side, place: string, content: unknown, within: string): void {
    for (const [type, media] of Object.entries(members(content))) {
      const key = `${side} ${place} ${type}`
      this.facts.set(key, { within, required: false, bounds: {} })
      this.#readSchema(side, `${place} ${type} body`, members(media)['schema'], key)
    }
  }

  #readOperation(place: string, item: Members, operation: Members): void {
    const key = `request ${place}`
    this.facts.set(key, { required: false, bounds: {} })
    for (const value of [...list(item['parameters']), ...list(operation['parameters'])]) {
      const parameter = this.#target(value)
      this.#readSchema(
        'request',
        `${place} ${String(parameter['in'])} ${String(parameter['name'])}`,
        parameter['schema'],
        key,
        parameter['required'] === true,
      )
    }
    const body = this.#target(operation['requestBody'])
    this.#readContent('request', place, body['content'], key)
    for (const [status, value] of Object.entries(members(operation['responses']))) {
      const answer = `answer ${place} ${status}`
      this.facts.set(answer, { within: key, required: false, bounds: {} })
      this.#readContent('answer', `${place} ${status}`, this.#target(value)['content'], answer)
    }
  }

  #readPath(path: string, item: Members): void {
    for (const method of methods)
      if (item[method] !== undefined)
        this.#readOperation(`${method.toUpperCase()} ${path}`, item, members(item[method]))
  }
}

function without(some: readonly string[] | undefined, others: readonly string[] | undefined) {
  return (some ?? []).filter((one) => !(others ?? []).includes(one))
}

/** Whether a place of which `to` is true forbids something that `from` allows. */
function narrower(name: string, from: unknown, to: unknown): boolean {
  if (to === undefined) return false
  if (from === undefined || forms.includes(name)) return true
  return lowest.includes(name) ? Number(to) > Number(from) : Number(to) < Number(from)
}

const shown = (value: unknown) =>
  typeof value === 'string' ? value : (JSON.stringify(value) ?? 'none')

/** Changes of one place: a request must accept all that it did, an answer must not say more than it did. */
function differences(side: Side, place: string, from: Fact, to: Fact): Change[] {
  const found: Change[] = []
  const say = (text: string, breaking: boolean) => found.push({ place, text, breaking })
  const request = side === 'request'
  if (from.required !== to.required)
    say(to.required ? 'is required' : 'is optional', to.required === request)
  const [gone, come] = [without(from.types, to.types), without(to.types, from.types)]
  if (gone.length + come.length > 0) {
    const [narrow, wide] = request ? [to, from] : [from, to]
    const breaking =
      narrow.types !== undefined && (wide.types === undefined || (request ? gone : come).length > 0)
    say(`type ${from.types?.join(' | ') ?? 'any'} → ${to.types?.join(' | ') ?? 'any'}`, breaking)
  }
  if (from.values === undefined && to.values !== undefined)
    say(`only ${to.values.join(', ')}`, request && to.open !== true)
  else if (from.values !== undefined && to.values === undefined) say('any value', !request)
  else {
    for (const value of without(from.values, to.values)) say(`without value ${value}`, request)
    for (const value of without(to.values, from.values))
      say(`new value ${value}`, !request && from.open !== true)
  }
  if ((from.open === true) !== (to.open === true) && from.values && to.values)
    say(to.open ? 'list of values is open' : 'list of values is closed', request !== to.open)
  for (const name of new Set([...Object.keys(from.bounds), ...Object.keys(to.bounds)])) {
    const [old, now] = [from.bounds[name], to.bounds[name]]
    if (old === now) continue
    const breaking = request ? narrower(name, old, now) : narrower(name, now, old)
    say(`${name} ${shown(old)} → ${shown(now)}`, breaking)
  }
  return found
}

/** Names what came, changed and went between two contracts; a place inside one that came or went is not named. */
export function contractChanges(older: Members, newer: Members): Change[] {
  const [before, after] = [new ContractFacts(older).facts, new ContractFacts(newer).facts]
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((key) => {
    const [from, to] = [before.get(key), after.get(key)]
    const side: Side = key.startsWith('request ') ? 'request' : 'answer'
    const place = `${key.slice(side.length + 1)} (${side})`
    if (from && to) return differences(side, place, from, to)
    const within = (from ?? to)?.within
    const named = /^\w+ [A-Z]+ \//u.test(key)
    // A schema of the components that came or went is seen where it is used.
    if (within === undefined ? !named : !(before.has(within) && after.has(within))) return []
    if (from) return [{ place, text: 'removed', breaking: true }]
    return [{ place, text: 'new', breaking: side === 'request' && to?.required === true }]
  })
}

const lineOf = ({ place, text }: Change) => `- \`${place}\`: ${text}`

/** The changes as Markdown for CHANGELOG.md, the breaking ones first. */
export function changesAsMarkdown(changes: readonly Change[]): string {
  const part = (title: string, breaking: boolean) => {
    const lines = changes.filter((one) => one.breaking === breaking).map(lineOf)
    return lines.length === 0 ? [] : [`#### ${title}`, '', ...lines, '']
  }
  return [...part('Breaking', true), ...part('Other changes', false)].join('\n')
}

/** What is wrong with the newer contract's version and with the changelog's list of breaking changes. */
export function unnamedChanges(older: Members, newer: Members, changelog: string): string[] {
  const changes = contractChanges(older, newer)
  const breaking = changes.filter((one) => one.breaking)
  const [from, to] = [older, newer].map((one) => String(members(one['info'])['version']))
  if (!from || !to || JSON.stringify(older) === JSON.stringify(newer)) return []
  const isMajor = breaking.length > 0 && !from.startsWith('0.')
  const smaller = changes.length > 0 ? 'minor' : 'patch'
  const part = isMajor ? 'major' : smaller
  const least = semver.inc(from, part) ?? from
  return [
    ...(semver.gte(to, least)
      ? []
      : [`info.version is ${to}; with these changes at least ${least}`]),
    ...breaking
      .map(lineOf)
      .filter((line) => !changelog.split('\n').includes(line))
      .map((line) => `CHANGELOG.md lacks the line: ${line}`),
  ]
}

/** The contract of the last release; nothing before the first. */
export function releasedContract(): Members | undefined {
  if (!existsSync(released)) return undefined
  return members(JSON.parse(brotliDecompressSync(readFileSync(released)).toString()))
}

function contractAt(place: string): Members {
  const text = existsSync(place)
    ? readFileSync(place, 'utf8')
    : execFileSync('git', ['show', `${place}:openapi.yaml`], {
        encoding: 'utf8',
        maxBuffer: 2 ** 26,
      })
  return members(parse(text))
}

if (import.meta.main) {
  const [older, newer = new URL('../openapi.yaml', import.meta.url).pathname] =
    process.argv.slice(2)
  if (older === undefined) {
    console.error('Usage: npm run -s contract-changes -- <old> [<new>] | --release')
    process.exitCode = 2
  } else if (older === '--release') {
    writeFileSync(released, brotliCompressSync(JSON.stringify(contractAt(newer))))
  } else {
    const changes = contractChanges(contractAt(older), contractAt(newer))
    process.stdout.write(changesAsMarkdown(changes))
    if (changes.some((one) => one.breaking)) process.exitCode = 1
  }
}
