import { ProviderFailure } from '../../core/failure.ts'
import { isPlain, plainWords, withoutPlaces } from './plain-words.ts'

type Members = Record<string, unknown>

/**
 * Cleans all texts of a vendor except the content of its answers (docs/vendors.md#what-passes). It
 * redacts the keys of all vendors.
 */
export type VendorTexts = {
  /** A safe message, one line of at most 500 characters; empty for non-strings. */
  words(value: unknown): string
  /** An id or name, unchanged; undefined if it is not a string, too long or unsafe. */
  name(value: unknown, charactersMax?: number): string | undefined
  /**
   * An object for callers: members named in `content` unchanged, all other texts without secrets
   * and addresses. The same object if nothing changes. Throws a ProviderFailure if it is nested
   * too deeply.
   */
  members(object: Members, content: ReadonlySet<string>): Members
}

/** The latest tokens of service accounts; another list after each new token. */
export type TokensInUse = { latest: readonly string[] }

const wordsCharactersMax = 500
const wordsCharactersRead = 16_384
const nameCharactersMax = 256
/** Limits nesting, since very deep objects cannot be printed; no vendor nests deeper. */
const depthMax = 64
/** Size of the cache of cleaned texts: texts outside the content repeat in each event of a stream. */
const seenMax = 256
/** Length to which texts outside the content are truncated. */
const textCharactersMax = 8192
/** Characters that are cleaned per object; further texts are omitted, since cleaning takes time. */
const objectCharactersMax = 262_144
const seenCharactersMax = 256

/** Creates the filter of a gateway with these keys, and with the tokens of the moment. */
export function createVendorTexts(keys: readonly string[], tokens?: TokensInUse): VendorTexts {
  const seen = new Map<string, string>()
  const redaction = changingRedaction(keys, tokens, () => seen.clear())
  const cleaned = (text: string): string => {
    const { redact, mayHold } = redaction()
    const read = text.slice(0, textCharactersMax)
    return isPlain(read) && !mayHold(read) ? read : withoutPlaces(redact(read))
  }
  let left = objectCharactersMax
  const clean = (text: string): string => {
    redaction()
    const cached = text.length > seenCharactersMax ? undefined : seen.get(text)
    if (cached !== undefined) return cached
    left -= Math.min(text.length, textCharactersMax)
    if (left < 0) return ''
    if (text.length > seenCharactersMax) return cleaned(text)
    const made = cleaned(text)
    if (seen.size >= seenMax) seen.clear()
    seen.set(text, made)
    return made
  }
  const passed = (value: unknown, depth: number): unknown => {
    if (typeof value === 'string') return clean(value)
    if (typeof value !== 'object' || value === null) return value
    if (depth > depthMax) {
      throw new ProviderFailure('malformed', 'The answer is nested too deeply.')
    }
    if (Array.isArray(value)) return passedList(value, depth)
    // `value` is an object: the lines above handle all other types.
    return passedMembers(value as Members, noContent, depth)
  }
  const passedList = (list: readonly unknown[], depth: number): readonly unknown[] => {
    const made = list.map((item) => passed(item, depth + 1))
    return made.every((item, at) => item === list[at]) ? list : made
  }
  const passedMembers = (object: Members, content: ReadonlySet<string>, depth: number): Members => {
    let made: Members | undefined
    for (const name in object) {
      const value = object[name]
      const passedValue = content.has(name) ? value : passed(value, depth + 1)
      const title = content.has(name) ? name : clean(name)
      if (passedValue === value && title === name) continue
      made ??= { ...object }
      if (title !== name) delete made[name]
      made[title] = passedValue
    }
    return made ?? object
  }
  return {
    words: (value) => {
      if (typeof value !== 'string') return ''
      // Removes keys before truncation, which could leave a part of a key that is not recognised.
      const redacted = redaction().redact(value.slice(0, wordsCharactersRead))
      return plainWords(redacted).slice(0, wordsCharactersMax)
    },
    name: (value, charactersMax = nameCharactersMax) => {
      if (typeof value !== 'string' || value === '' || value.length > charactersMax)
        return undefined
      left = objectCharactersMax
      // oxlint-disable-next-line no-control-regex
      return clean(value) === value && !/[\u0000-\u001f\u007f-\u009f]/.test(value)
        ? value
        : undefined
    },
    members: (object, content) => {
      left = objectCharactersMax
      return passedMembers(object, content, 0)
    },
  }
}

/** Removes the keys and tokens from a text of any length; placeholders and masked keys stay. */
export function keyRemover(keys: readonly string[], tokens: TokensInUse): (text: string) => string {
  const redaction = changingRedaction(keys, tokens, () => undefined)
  return (text) => redaction().remove(text)
}

const noContent: ReadonlySet<string> = new Set()

/** The filter for an upstream inside the process, which has no secrets. */
export const ownTexts: VendorTexts = createVendorTexts([])

type KeyRedaction = {
  redact(text: string): string
  /** Removes whole keys and their ends; no placeholders, which may be words. */
  remove(text: string): string
  /** A fast check: false if the text contains no key, true if it may contain one. */
  mayHold(text: string): boolean
}

const removed = '[removed]'
/**
 * This many characters of a key's beginning or end are treated as secret: vendors quote parts of
 * keys.
 */
const partCharacters = 12
/** Shorter keys are matched as whole words only: they are placeholders such as `none`, or words. */
const keyCharactersMin = 8

/**
 * Finds keys in plain text, base64 or hexadecimal, masked (`sk-...abcd`), truncated at either end,
 * or with characters escaped as in JSON, URLs or HTML (docs/vendors.md#what-passes).
 */
function redactionOf(keys: readonly string[]): KeyRedaction {
  const unique = [...new Set(keys)].filter((key) => key !== '')
  if (unique.length === 0)
    return { redact: (text) => text, remove: (text) => text, mayHold: () => false }
  const long = unique.filter((key) => key.length >= keyCharactersMin)
  const written = [
    ...unique.map((key) => partsOf(key, literal)),
    ...long.map((key) => partsOf(key, hexOf)),
  ]
  const plain = new RegExp(written.join('|'), 'gi')
  const escaped = new RegExp(unique.map((key) => partsOf(key, spelled)).join('|'), 'gi')
  const encoded = new RegExp(
    unique.flatMap(base64Cores).map(RegExp.escape).join('|') || '(?!)',
    'g',
  )
  const looks = quickLook(unique)
  const unmask = (found: string, head: string, tail: string) =>
    unique.some((key) => isMasked(key, edge(head), edge(tail)))
      ? // A full stop after the end of a key belongs to the sentence.
        `${removed}${/[^.]\.$/.test(tail) ? '.' : ''}`
      : found
  const remove = (text: string) => {
    const clean = text.replace(plain, removed).replace(encoded, removed)
    return escapes.test(clean) ? clean.replace(escaped, removed) : clean
  }
  return {
    mayHold: looks,
    redact: (text) => remove(text).replace(masks, unmask),
    remove: long.length === unique.length ? remove : redactionOf(long).remove,
  }
}

/** The redaction of keys and tokens; `onChange` is called when earlier results are out of date. */
function changingRedaction(
  keys: readonly string[],
  tokens: TokensInUse | undefined,
  onChange: () => void,
): () => KeyRedaction {
  let known = tokens?.latest
  let redaction = redactionOf([...keys, ...(known ?? [])])
  return () => {
    const now = tokens?.latest
    if (now !== known) {
      known = now
      redaction = redactionOf([...keys, ...(now ?? [])])
      onChange()
    }
    return redaction
  }
}

/** The fast check: substring searches, since on a short text the patterns take twenty times as long. */
function quickLook(keys: readonly string[]): (text: string) => boolean {
  const parts = keys
    .flatMap((key) => [key.slice(0, partCharacters), key.slice(-partCharacters)])
    .flatMap((part) => [part.toLowerCase(), hexOf(part)])
  const cores = keys.flatMap(base64Cores)
  return (text) => {
    const lower = text.toLowerCase()
    if (parts.some((part) => lower.includes(part)) || marks.test(text)) return true
    return cores.some((core) => core.length <= text.length && text.includes(core))
  }
}

/** Characters of escapes and masks. */
const marks = /[\\%&*\u2022\u2026]|\.\./

/** Escapes of characters: `\u0073`, `\x73`, `%73`, `&#115;`, `&#x73;`. */
const escapes = /\\+(?:u00|x)[0-9a-f]{2}|%[0-9a-f]{2}|&#x?[0-9a-f]{2,6};/i
const masks = /([\w.*~+/=-]{0,60})(?:[.*\u2022]{2}|\u2026)([\w.*\u2022\u2026~+/=-]{0,40})/g
const maskEdges = /[.*\u2022\u2026]+$|^[.*\u2022\u2026]+/g
const maskedCharactersMin = 5

function edge(shown: string): string {
  return shown.replace(maskEdges, '')
}

function isMasked(key: string, head: string, tail: string): boolean {
  if (key.length < keyCharactersMin || head.length + tail.length < maskedCharactersMin) return false
  return key.startsWith(head) && key.endsWith(tail)
}

/** A pattern for a key and its ends; characters that follow the beginning are included. */
function partsOf(key: string, write: (character: string) => string): string {
  const whole = Array.from(key, write)
  if (key.length < keyCharactersMin) return String.raw`(?<![\w-])${whole.join('')}(?![\w-])`
  const [head, tail] = [whole.slice(0, partCharacters), whole.slice(-partCharacters)]
  const rest = String.raw`(?:${whole.slice(partCharacters).join('')}|[\w~+/=-]*)`
  return `${head.join('')}${rest}|${tail.join('')}`
}

function literal(character: string): string {
  return RegExp.escape(character)
}

function hexOf(text: string): string {
  return Buffer.from(text).toString('hex')
}

function spelled(character: string): string {
  const code = character.codePointAt(0)!
  const hex = code.toString(16).padStart(2, '0')
  return String.raw`(?:${literal(character)}|\\+(?:u00|x)${hex}|%${hex}|&#(?:0*${code}|x0*${hex});)`
}

/** The base64 of a key that does not depend on the bytes around it, for each of three offsets. */
function base64Cores(key: string): string[] {
  if (key.length < keyCharactersMin) return []
  return [0, 1, 2].flatMap((before) => {
    const bytes = Buffer.from(' '.repeat(before) + key)
    const [from, to] = [Math.ceil((before * 8) / 6), Math.floor((bytes.length * 8) / 6)]
    return (['base64', 'base64url'] as const).map((form) => bytes.toString(form).slice(from, to))
  })
}
