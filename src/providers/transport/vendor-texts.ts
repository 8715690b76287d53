import { ProviderFailure } from '../../core/failure.ts'
import { redactionOf } from './key-redaction.ts'
import { isPlain, plainWords, withoutPlaces } from './plain-words.ts'

type Members = Record<string, unknown>

/**
 * The one door through which texts of a vendor come that are not the content of its answer
 * (docs/vendors.md#what-passes). It knows the keys of all vendors.
 */
export type VendorTexts = {
  /** Words that a caller may read, as one line of at most 500 characters; empty for what is no text. */
  words(value: unknown): string
  /** An id or a name that is passed on as it is; undefined when it is none, too long, or not plain. */
  name(value: unknown, charactersMax?: number): string | undefined
  /**
   * An object as it is passed on: members named in `content` as they are, the texts of all others without
   * secrets and places. The same one when nothing changes. Throws a ProviderFailure when it is too deep.
   */
  members(object: Members, content: ReadonlySet<string>): Members
}

const wordsCharactersMax = 500
/** More of a text is not looked at. */
const wordsCharactersRead = 16_384
const nameCharactersMax = 256
/** No vendor nests deeper, and what is deeper cannot be printed. */
const depthMax = 64
/** Texts that were looked at: those beside the content are the same in each event of a stream. */
const seenMax = 256
/** What is longer is cut: it is not content. */
const textCharactersMax = 8192
/** Texts of all sizes in one object; what is beyond is left out, since to look at it takes its time. */
const objectCharactersMax = 262_144
const seenCharactersMax = 256

/** The door of a gateway that has these keys. */
export function createVendorTexts(keys: readonly string[]): VendorTexts {
  const { redact, mayHold } = redactionOf(keys)
  const seen = new Map<string, string>()
  const cleaned = (text: string): string => {
    const read = text.slice(0, textCharactersMax)
    return isPlain(read) && !mayHold(read) ? read : withoutPlaces(redact(read))
  }
  let left = objectCharactersMax
  const clean = (text: string): string => {
    const known = text.length > seenCharactersMax ? undefined : seen.get(text)
    if (known !== undefined) return known
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
    // Neither null nor a list.
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
      const told = content.has(name) ? value : passed(value, depth + 1)
      const title = content.has(name) ? name : clean(name)
      if (told === value && title === name) continue
      made ??= { ...object }
      if (title !== name) delete made[name]
      made[title] = told
    }
    return made ?? object
  }
  return {
    words: (value) => {
      if (typeof value !== 'string') return ''
      // Keys first: a shorter text may hold a part of one that is not recognised.
      const told = redact(value.slice(0, wordsCharactersRead))
      return plainWords(told).slice(0, wordsCharactersMax)
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

/** For an upstream inside the process, which knows no secret. */
export const ownTexts: VendorTexts = createVendorTexts([])
