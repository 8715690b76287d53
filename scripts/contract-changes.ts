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
import {
  ContractFacts,
  forms,
  lowest,
  members,
  type Fact,
  type Members,
  type Side,
} from './contract-facts.ts'
import { openAnswers } from './generate/open-answers.ts'

/** One difference between two contracts. */
export type Change = { place: string; text: string; breaking: boolean }

const semver = createRequire(import.meta.url)('semver') as {
  gte: (version: string, other: string) => boolean
  inc: (version: string, part: 'major' | 'minor' | 'patch') => string | null
}
const released = new URL('../openapi-released.json.br', import.meta.url)
function without(some: readonly string[] | undefined, others: readonly string[] | undefined) {
  return (some ?? []).filter((one) => !(others ?? []).includes(one))
}

const shown = (value: unknown) =>
  typeof value === 'string' ? value : (JSON.stringify(value) ?? 'none')

/** Whether a place of which `to` is true forbids something that `from` allows. */
function narrower(name: string, from: unknown, to: unknown): boolean {
  if (to === undefined) return false
  // The gateway checks by patterns and bounds, and refuses nothing because of a format that it now names.
  if (name === 'format' && from === undefined) return false
  if (from === undefined || forms.includes(name)) return true
  return lowest.includes(name) ? Number(to) > Number(from) : Number(to) < Number(from)
}

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
  if ((from.closed === true) !== (to.closed === true))
    say(
      to.closed ? 'has no other members' : 'may have other members',
      request && to.closed === true,
    )
  if ((from.open === true) !== (to.open === true) && from.values && to.values)
    say(to.open ? 'list of values is open' : 'list of values is closed', request && !to.open)
  for (const name of new Set([...Object.keys(from.bounds), ...Object.keys(to.bounds)])) {
    const [old, now] = [from.bounds[name], to.bounds[name]]
    if (old === now) continue
    const breaking = request ? narrower(name, old, now) : narrower(name, now, old)
    say(`${name} ${shown(old)} → ${shown(now)}`, breaking)
  }
  return found
}

/**
 * Gives the facts of an object that got a name, lost it or was renamed the place that they had before, so that a move
 * without a difference is no change.
 */
function followMoved(before: ReadonlyMap<string, Fact>, after: Map<string, Fact>): void {
  const moves = new Map<string, string>()
  for (const [key, from] of before) {
    const to = after.get(key)
    const [gone, come] = [without(from.types, to?.types), without(to?.types, from.types)]
    if (to === undefined || gone.length !== 1 || come.length !== 1) continue
    const [side = ''] = key.split(' ', 1)
    const placeOf = (type: string) => (type === 'object' ? key : `${side} ${type}`)
    const [old, now] = [placeOf(gone[0]!), placeOf(come[0]!)]
    const target = after.get(now)
    if (moves.get(old) === now) to.types = from.types!
    // A component that is still there did not move.
    if (!before.has(old) || target === undefined || (old !== key && after.has(old))) continue
    moves.set(old, now)
    // Their new places are not looked at again: an object may contain itself.
    const inside = [...after].filter(
      ([name]) => name.startsWith(now) && /^[.[|]/.test(name.slice(now.length)),
    )
    for (const [name, fact] of inside) {
      after.set(old + name.slice(now.length), { ...fact, within: fact.within?.replace(now, old) })
      if (now === key) after.delete(name)
    }
    const { closed = false, bounds } = target
    if (now === key) Object.assign(to, { closed: false, bounds: {} })
    if (old === key) Object.assign(to, { closed, bounds })
    else after.set(old, { closed, bounds, required: false, types: ['object'] })
    to.types = from.types!
  }
}

/** Names what came, changed and went between two contracts; a place inside one that came or went is not named. */
export function contractChanges(older: Members, newer: Members): Change[] {
  const [before, after] = [new ContractFacts(older).facts, new ContractFacts(newer).facts]
  followMoved(before, after)
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((key) => {
    const [from, to] = [before.get(key), after.get(key)]
    const side: Side = key.startsWith('request ') ? 'request' : 'answer'
    const place = `${key.slice(side.length + 1)} (${side})`
    if (from && to) return differences(side, place, from, to)
    const within = (from ?? to)?.within
    const named = /^(?:\w+ [A-Z]+ \/|answer webhook )/u.test(key)
    // A schema of the components that came or went is seen where it is used.
    if (within === undefined ? !named : !(before.has(within) && after.has(within))) return []
    // An answer may always be without a header that is not required.
    const isHeader = / \d{3} header /.test(key)
    if ((from ?? to)!.alternative)
      return [{ place, text: from ? 'removed' : 'new', breaking: (side === 'request') === !!from }]
    if (from) return [{ place, text: 'removed', breaking: !isHeader || from.required }]
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

/** The contract in the form that the gateway serves, from a file or a git revision. */
export function contractAt(place: string): Members {
  const text = existsSync(place)
    ? readFileSync(place, 'utf8')
    : execFileSync('git', ['show', `${place}:openapi.yaml`], {
        encoding: 'utf8',
        maxBuffer: 2 ** 26,
      })
  // Clients are made from this form.
  return openAnswers(parse(text))
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
