import { ProviderFailure } from '../../core/failure.ts'
import { changingRedaction } from './key-redaction.ts'
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

const wordsCharactersMax = 500
/** Characters of a message that are read. */
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

/** The tokens of the moment; another list after each change. */
type Tokens = () => readonly string[]

/** Creates the filter of a gateway with these keys, and with the tokens of the moment. */
export function createVendorTexts(keys: readonly string[], tokens?: Tokens): VendorTexts {
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

const noContent: ReadonlySet<string> = new Set()

/** The filter for an upstream inside the process, which has no secrets. */
export const ownTexts: VendorTexts = createVendorTexts([])
